#include "cli/answer.h"

#include <random>

#include "cli/memory.h"

namespace g4::cli {
namespace {
uint64_t random_seed() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

g4_sampling make_sampling(const SamplingOptions& options) {
  g4_sampling sampling = G4_INIT(g4_sampling);
  sampling.flags = options.greedy || options.temperature == 0 ? G4_SAMPLING_GREEDY : 0;
  sampling.temperature = options.temperature;
  sampling.top_k = options.top_k == 0 ? -1 : options.top_k;  // in g4.h 0 stands for the default
  sampling.top_p = options.top_p;
  sampling.min_p = options.min_p;
  sampling.repetition_penalty = options.repetition_penalty;
  sampling.presence_penalty = options.presence_penalty;
  sampling.frequency_penalty = options.frequency_penalty;
  sampling.seed = options.seed ? *options.seed : random_seed();
  return sampling;
}

// Writes the pieces of an answer, each channel where it belongs, and ends with a newline whatever the model
// wrote.
class AnswerWriter {
 public:
  AnswerWriter(Terminal& terminal, bool show_thoughts)
      : terminal_(terminal), show_thoughts_(show_thoughts || terminal.err.is_terminal()) {}

  void write(g4_channel channel, std::string_view text) {
    if (text.empty() || (channel == G4_CHANNEL_THOUGHT && !show_thoughts_)) return;
    if (channel != channel_) end_line();
    channel_ = channel;
    ends_line_ = text.back() == '\n';
    if (channel == G4_CHANNEL_THOUGHT) {
      terminal_.err.write(text, Style::kDim);
    } else {
      terminal_.out.write(text);
    }
  }
  void end_line() {
    if (!ends_line_) write(channel_, "\n");
  }

 private:
  Terminal& terminal_;
  bool show_thoughts_;
  g4_channel channel_ = G4_CHANNEL_TEXT;
  bool ends_line_ = true;
};
}  // namespace

Answer stream_answer(Terminal& terminal, Session& session, std::span<const int32_t> prompt,
                     const AnswerOptions& options) {
  const g4_sampling sampling = make_sampling(options.sampling);
  std::vector<const char*> stops;
  for (const std::string& stop : options.stops) stops.push_back(stop.c_str());
  g4_generate_options generate = G4_INIT(g4_generate_options);
  generate.flags = G4_GENERATE_EXTEND;
  generate.max_token_count = options.max_token_count;
  generate.stops = stops.data();
  generate.stop_count = stops.size();
  generate.sampling = &sampling;

  Answer answer = {G4_INIT(g4_generate_result), {}, sampling.seed};
  AnswerWriter writer(terminal, options.show_thoughts);
  Progress progress(terminal.err, "reading");
  const interrupt::Watch watch(session);
  try {
    answer.result = session.generate(prompt, generate, [&](const g4_event& event) {
      if (event.kind == G4_EVENT_PREFILL) progress.update(event.done_count, event.total_count);
      if (event.kind == G4_EVENT_TOKEN) {
        progress.clear();
        answer.tokens.push_back(event.token);
        writer.write(event.channel, {event.text, event.text_bytes});
      }
      return !interrupt::pending();
    });
  } catch (const Error& error) {
    if (error.status() != G4_ERR_CANCELLED) throw;
  }
  if (interrupt::pending()) answer.result.finish_reason = G4_FINISH_CANCELLED;
  progress.clear();
  writer.end_line();
  return answer;
}

void explain_end(Terminal& terminal, const Session& session, const Answer& answer) {
  switch (answer.result.finish_reason) {
    case G4_FINISH_CANCELLED:
      return terminal.err.write("(stopped)\n", Style::kDim);
    case G4_FINISH_TOOL_CALL:
      return terminal.err.write("(the model called a tool; g4 offers it none)\n", Style::kDim);
    case G4_FINISH_LENGTH:
      if (session.position() < session.info().context_count) return;  // --max-tokens
      return terminal.err.write("(the context is full; --context makes it larger)\n", Style::kDim);
    default:
      return;
  }
}

namespace {
std::string describe_rate(uint64_t token_count, uint64_t time_ns) {
  const double seconds = static_cast<double>(time_ns) * 1e-9;
  const double rate = seconds > 0 ? static_cast<double>(token_count) / seconds : 0;
  return format("%8llu tokens %9.3f s %10.1f tokens/s", static_cast<unsigned long long>(token_count), seconds,
                rate);
}
}  // namespace

void print_stats(Terminal& terminal, const Session& session, const Answer& answer) {
  const g4_generate_result& result = answer.result;
  const g4_stats stats = session.stats();
  const Memory memory = measure_memory();
  terminal.err.write(
      "prompt  " + describe_rate(result.prompt_token_count, result.prefill_ns) + ", " +
          std::to_string(result.reused_token_count) + " reused\n" + "answer  " +
          describe_rate(result.generated_token_count, result.decode_ns) + "\n" +
          format("context %8zu of %u tokens, KV cache %s\n", session.position(), session.info().context_count,
                 human_bytes(stats.kv_bytes).c_str()) +
          format("memory  %s resident, %s of it mapped files; peak %s\n",
                 human_bytes(memory.resident_bytes).c_str(), human_bytes(memory.file_bytes).c_str(),
                 human_bytes(memory.peak_bytes).c_str()) +
          format("seed    %llu\n", static_cast<unsigned long long>(answer.seed)),
      Style::kDim);
}
}  // namespace g4::cli
