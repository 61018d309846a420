// g4 bench: time to open, to read a prompt, to restore it from a file, to write answers; memory.
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
  double save_seconds;  // 0 without --restore, as the next two
  double restore_seconds;
  uint64_t kv_file_bytes;
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

// Saves the state and takes it back from the file, as another process would: with the prompt at hand.
void save_and_restore(Session& session, std::span<const int32_t> tokens, const std::string& path, Run& run) {
  const Clock::time_point start = Clock::now();
  run.kv_file_bytes = session.save_kv(path);
  run.save_seconds = seconds_since(start);
  session.reset();
  const Clock::time_point restore_start = Clock::now();
  const size_t restored = session.load_kv(path, tokens);
  run.restore_seconds = seconds_since(restore_start);
  if (restored != tokens.size()) {
    throw Failure(kFailed, format("%s: %zu of %zu tokens came back", path.c_str(), restored, tokens.size()));
  }
}

// Every session picks its best token, as an answer would, but goes on with one of `tokens`: so each run reads
// as many different rows of the embedding tables as text does, and the same ones every time.
void decode(std::span<Session* const> sessions, std::span<const int32_t> tokens, const auto& on_first_token) {
  g4_sampling greedy = G4_INIT(g4_sampling);
  greedy.flags = G4_SAMPLING_GREEDY;
  std::vector<std::span<const int32_t>> next(sessions.size());
  for (size_t done = 0; done < tokens.size(); done += sessions.size()) {
    for (size_t i = 0; i < sessions.size(); ++i) {
      sessions[i]->sample(greedy);
      next[i] = tokens.subspan(done + i, 1);
    }
    if (done == 0) on_first_token();
    Session::prefill_batch(sessions, next);
    if (interrupt::pending()) interrupt::end_process();
  }
}

// tokens: those there before, the prompt, what the sessions go on with.
Run measure(Session& session, std::span<const int32_t> tokens, const BenchOptions& options,
            Progress& progress) {
  const auto on_event = [&](const g4_event& event) {
    progress.update(event.done_count, event.total_count);
    return !interrupt::pending();
  };
  const std::span<const int32_t> read = tokens.first(options.depth + options.prefill_count);
  session.reset();
  if (options.depth > 0) session.prefill(read.first(options.depth), on_event);
  Run run = {};
  const Clock::time_point start = Clock::now();
  session.prefill(read.subspan(options.depth), on_event);
  run.prefill_seconds = seconds_since(start);
  if (!options.restore_path.empty()) save_and_restore(session, read, options.restore_path, run);
  std::vector<Session> forks;
  for (uint32_t i = 1; i < options.session_count; ++i) forks.push_back(session.fork());
  std::vector<Session*> sessions = {&session};
  for (Session& fork : forks) sessions.push_back(&fork);
  const Clock::time_point decode_start = Clock::now();
  decode(sessions, tokens.subspan(read.size()),
         [&] { run.first_token_seconds = run.prefill_seconds + seconds_since(decode_start); });
  run.decode_seconds = seconds_since(decode_start);
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
  const BenchOptions& options;
  g4_info info;
  double open_seconds;
  std::vector<Run> runs;
  Memory memory;
  uint64_t kv_bytes;

  uint64_t decode_count() const { return uint64_t{options.decode_count} * options.session_count; }
};

std::string json_report(const Report& report) {
  const g4_info& info = report.info;
  Json runs = Json::array();
  for (const Run& run : report.runs) {
    runs.push_back({{"prefill_seconds", run.prefill_seconds},
                    {"time_to_first_token_seconds", run.first_token_seconds},
                    {"decode_seconds", run.decode_seconds}});
    if (run.kv_file_bytes > 0) {
      runs.back()["save_seconds"] = run.save_seconds;
      runs.back()["restore_seconds"] = run.restore_seconds;
    }
  }
  Json object = {
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
      {"sessions", report.options.session_count},
      {"depth", report.options.depth},
      {"open_seconds", report.open_seconds},
      {"prefill_tokens_per_s", report.options.prefill_count / median(report.runs, &Run::prefill_seconds)},
      {"decode_tokens_per_s",
       static_cast<double>(report.decode_count()) / median(report.runs, &Run::decode_seconds)},
      {"time_to_first_token_seconds", median(report.runs, &Run::first_token_seconds)},
      {"resident_bytes", report.memory.resident_bytes},
      {"resident_anonymous_bytes", report.memory.anonymous_bytes},
      {"resident_file_bytes", report.memory.file_bytes},
      {"peak_resident_bytes", report.memory.peak_bytes},
      {"kv_bytes", report.kv_bytes},
  };
  if (report.runs.front().kv_file_bytes > 0) {
    object["save_seconds"] = median(report.runs, &Run::save_seconds);
    object["restore_seconds"] = median(report.runs, &Run::restore_seconds);
    object["kv_file_bytes"] = report.runs.front().kv_file_bytes;
  }
  object["runs"] = std::move(runs);
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string table_row(const char* label, uint64_t token_count, const std::vector<Run>& runs,
                      double Run::*field) {
  const auto [best, worst] = std::minmax_element(
      runs.begin(), runs.end(), [&](const Run& a, const Run& b) { return a.*field < b.*field; });
  const double count = static_cast<double>(token_count), seconds = median(runs, field);
  return format("%-12s %8.0f %10.4f %12.1f   %.1f to %.1f\n", label, count, seconds, count / seconds,
                count / (*worst.*field), count / (*best.*field));
}

std::string table_report(const Report& report) {
  const Memory& memory = report.memory;
  std::string text = describe(report.info) + format(", after %u tokens", report.options.depth);
  if (report.options.session_count > 1) text += format(", %u sessions", report.options.session_count);
  text += "\n\n";
  text += format("%-12s %8s %10s %12s   %s\n", "", "tokens", "seconds", "tokens/s",
                 format("over %zu runs", report.runs.size()).c_str());
  text += table_row("prefill", report.options.prefill_count, report.runs, &Run::prefill_seconds);
  if (report.runs.front().kv_file_bytes > 0) {
    text += table_row("save", report.options.depth + report.options.prefill_count, report.runs,
                      &Run::save_seconds);
    text += table_row("restore", report.options.depth + report.options.prefill_count, report.runs,
                      &Run::restore_seconds);
  }
  text += table_row("decode", report.decode_count(), report.runs, &Run::decode_seconds);
  text += format("%-12s %8s %10.4f\n", "first token", "", median(report.runs, &Run::first_token_seconds));
  text += format("%-12s %8s %10.4f\n\n", "open", "", report.open_seconds);
  text += format("memory       %s resident: %s own, %s of mapped files; peak %s; KV cache %s\n",
                 human_bytes(memory.resident_bytes).c_str(), human_bytes(memory.anonymous_bytes).c_str(),
                 human_bytes(memory.file_bytes).c_str(), human_bytes(memory.peak_bytes).c_str(),
                 human_bytes(report.kv_bytes).c_str());
  if (const uint64_t bytes = report.runs.front().kv_file_bytes; bytes > 0)
    text += format("KV file      %s\n", human_bytes(bytes).c_str());
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
  const uint64_t step_count = uint64_t{options.decode_count} * options.session_count;
  const std::vector<int32_t> tokens =
      random_tokens(session.tokenizer(), options.depth + options.prefill_count + step_count);
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
