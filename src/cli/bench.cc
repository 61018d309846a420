// g4 bench: time to open, to read a prompt, to write an answer; memory.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/commands.h"
#include "cli/memory.h"

namespace g4::cli {
namespace {
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct Run {
  double prefill_seconds;
  double first_token_seconds;  // from the start of the prompt
  double decode_seconds;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The same random text tokens every time.
std::vector<int32_t> random_tokens(const TokenizerView& tokenizer, size_t count) {
  std::mt19937 random(4);
  const uint32_t vocab_count = tokenizer.vocab_count();
  std::vector<int32_t> tokens;
  for (size_t attempt = 0; tokens.size() < count; ++attempt) {
    const auto token = static_cast<int32_t>(random() % vocab_count);
    const bool is_text = !tokenizer.is_stop(token) && !tokenizer.detokenize({&token, 1}).empty();
    if (is_text) tokens.push_back(token);
    if (attempt > 1000 + 1000 * count) throw Failure(kFailed, "the vocabulary holds next to no text tokens");
  }
  return tokens;
}

Run measure(Session& session, std::span<const int32_t> tokens, const BenchOptions& options,
            Progress& progress) {
  session.reset();
  if (options.depth > 0) session.prefill(tokens.first(options.depth));
  const std::span<const int32_t> prompt = tokens.subspan(options.depth);
  Run run = {};
  const Clock::time_point start = Clock::now();
  session.prefill(prompt, [&](const g4_event& event) {
    progress.update(event.done_count, event.total_count);
    return !interrupt::pending();
  });
  run.prefill_seconds = seconds_since(start);
  const Clock::time_point decode_start = Clock::now();
  g4_sampling greedy = G4_INIT(g4_sampling);
  greedy.flags = G4_SAMPLING_GREEDY;
  g4_generate_options generate = G4_INIT(g4_generate_options);
  generate.flags = G4_GENERATE_IGNORE_STOP;
  generate.max_token_count = options.decode_count;
  generate.sampling = &greedy;
  session.generate({}, generate, [&](const g4_event&) {
    if (run.first_token_seconds == 0) run.first_token_seconds = seconds_since(start);
    return !interrupt::pending();
  });
  run.decode_seconds = seconds_since(decode_start);
  if (interrupt::pending()) interrupt::end_process();
  return run;
}

double median(const std::vector<Run>& runs, double Run::*field) {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(run.*field);
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

struct Report {
  BenchOptions options;
  g4_info info;
  double open_seconds;
  std::vector<Run> runs;
  Memory memory;
  uint64_t kv_bytes;
};

std::string json_report(const Report& report) {
  const g4_info& info = report.info;
  Json runs = Json::array();
  for (const Run& run : report.runs) {
    runs.push_back({{"prefill_seconds", run.prefill_seconds},
                    {"time_to_first_token_seconds", run.first_token_seconds},
                    {"decode_seconds", run.decode_seconds}});
  }
  const Json object = {
      {"model", model_or_demo(report.options.model.path)},
      {"name", info.name},
      {"variant", info.variant},
      {"quantisation", info.quantisation},
      {"weights_bytes", info.weights_bytes},
      {"ple_bytes", info.ple_bytes},
      {"cpu", info.cpu},
      {"threads", info.thread_count},
      {"context", info.context_count},
      {"prefill_tokens", report.options.prefill_count},
      {"decode_tokens", report.options.decode_count},
      {"depth", report.options.depth},
      {"open_seconds", report.open_seconds},
      {"prefill_tokens_per_s", report.options.prefill_count / median(report.runs, &Run::prefill_seconds)},
      {"decode_tokens_per_s", report.options.decode_count / median(report.runs, &Run::decode_seconds)},
      {"time_to_first_token_seconds", median(report.runs, &Run::first_token_seconds)},
      {"resident_bytes", report.memory.resident_bytes},
      {"resident_anonymous_bytes", report.memory.anonymous_bytes},
      {"resident_file_bytes", report.memory.file_bytes},
      {"peak_resident_bytes", report.memory.peak_bytes},
      {"kv_bytes", report.kv_bytes},
      {"runs", runs},
  };
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string table_row(const char* label, uint32_t token_count, const std::vector<Run>& runs,
                      double Run::*field) {
  const auto [best, worst] = std::minmax_element(
      runs.begin(), runs.end(), [&](const Run& a, const Run& b) { return a.*field < b.*field; });
  const double seconds = median(runs, field);
  return format("%-12s %8u %10.4f %12.1f   %.1f to %.1f\n", label, token_count, seconds,
                token_count / seconds, token_count / (*worst.*field), token_count / (*best.*field));
}

std::string table_report(const Report& report) {
  const Memory& memory = report.memory;
  std::string text = describe(report.info) + format(", after %u tokens\n\n", report.options.depth);
  text += format("%-12s %8s %10s %12s   %s\n", "", "tokens", "seconds", "tokens/s",
                 format("over %zu runs", report.runs.size()).c_str());
  text += table_row("prefill", report.options.prefill_count, report.runs, &Run::prefill_seconds);
  text += table_row("decode", report.options.decode_count, report.runs, &Run::decode_seconds);
  text += format("%-12s %8s %10.4f\n", "first token", "", median(report.runs, &Run::first_token_seconds));
  text += format("%-12s %8s %10.4f\n\n", "open", "", report.open_seconds);
  text += format("memory       %s resident: %s own, %s of mapped files; peak %s; KV cache %s\n",
                 human_bytes(memory.resident_bytes).c_str(), human_bytes(memory.anonymous_bytes).c_str(),
                 human_bytes(memory.file_bytes).c_str(), human_bytes(memory.peak_bytes).c_str(),
                 human_bytes(report.kv_bytes).c_str());
  return text;
}

}  // namespace

int bench(Terminal& terminal, const BenchOptions& options) {
  interrupt::install();
  const uint32_t needed = options.depth + options.prefill_count + options.decode_count;
  ModelOptions model = options.model;
  if (model.context_count == 0) model.context_count = needed;
  if (model.context_count < needed) {
    throw Failure(kUsage, format("--context: %u is less than depth, prompt and answer take: %u",
                                 model.context_count, needed));
  }
  const Clock::time_point start = Clock::now();
  Session session = open_session(terminal, model);
  const double open_seconds = seconds_since(start);
  const std::vector<int32_t> tokens =
      random_tokens(session.tokenizer(), options.depth + options.prefill_count);
  const interrupt::Watch watch(session);
  std::vector<Run> runs;
  for (uint32_t i = 0; i < options.repeat_count; ++i) {
    Progress progress(terminal.err, format("run %u of %u", i + 1, options.repeat_count));
    runs.push_back(measure(session, tokens, options, progress));
  }
  const Report report = {options, session.info(),   open_seconds,
                         runs,    measure_memory(), session.stats().kv_bytes};
  terminal.out.write(options.json ? json_report(report) : table_report(report));
  return 0;
}
}  // namespace g4::cli
