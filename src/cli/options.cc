#include "cli/options.h"

#include <charconv>
#include <filesystem>
#include <random>

namespace g4::cli {
std::string model_or_demo(const std::string& path) {
  if (!path.empty()) return path;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path demo = program.parent_path().parent_path() / "share/g4/g4-demo-q8_0.gguf";
  if (error || !std::filesystem::exists(demo, error)) {
    throw Failure(kFailed, "no demo model at " + demo.string() + ": give the path of a GGUF file");
  }
  return demo.string();
}

void ModelOptions::add_to(CLI::App& app) {
  static constexpr const char* kGroup = "How to run it";
  app.add_option("model", path_, "A GGUF file; the demo model if left out")->option_text("MODEL");
  const auto add = [&](const char* name, auto& value, const char* argument, const std::string& what) {
    return app.add_option(name, value, what)->group(kGroup)->option_text(argument);
  };
  add("--threads", thread_count_, "N", "Threads (default: the physical cores)")->check(CLI::Range(1, 4096));
  add("--context", context_count, "N", "Tokens that fit (default: the model's maximum, at most 32768)")
      ->check(CLI::Range(1U, UINT32_MAX));
  add("--cpu", cpu_, "NAME", std::string("Kernels, the first of these unless told: ") + g4_cpus());
  add("--kv-type", kv_type_, "f16|f32", "Numbers of the KV cache [f16]")
      ->check(CLI::IsMember({"f16", "f32"}));
  add("--precision", precision_, "int8|f32", "Activations against quantised weights [int8]")
      ->check(CLI::IsMember({"int8", "f32"}));
  add("--ple", ple_path_, "FILE", "GGUF file with the per-layer embedding table, if MODEL has none");
  app.add_flag("--ple-read", ple_read_, "Read that table with plain reads instead of a mapping")
      ->group(kGroup);
}

g4_session_options ModelOptions::session_options() const {
  g4_session_options options = G4_INIT(g4_session_options);
  options.context_count = context_count;
  options.thread_count = thread_count_;
  options.flags = ple_read_ ? G4_SESSION_PLE_READ : 0;
  options.kv_type = kv_type_ == "f32" ? G4_KV_F32 : G4_KV_F16;
  options.precision = precision_ == "f32" ? G4_PRECISION_F32 : G4_PRECISION_DEFAULT;
  options.cpu = cpu_.empty() ? nullptr : cpu_.c_str();
  options.ple_path = ple_path_.empty() ? nullptr : ple_path_.c_str();
  return options;
}

Session ModelOptions::open(Terminal& terminal) const {
  Progress progress(terminal.err, "loading");
  return Session::open(path(), session_options(), [&](const g4_event& event) {
    progress.update(event.done_count, event.total_count);
    return !interrupt::pending();
  });
}

std::string name_of(const g4_info& info) { return info.name[0] == '\0' ? info.architecture : info.name; }

std::string describe_threads(const g4_info& info) {
  return format("%u thread%s of %s", info.thread_count, info.thread_count == 1 ? "" : "s", info.cpu);
}

std::string describe(const g4_info& info) {
  return name_of(info) + format(" (%s, %s, %s) on %s, context %u", info.variant, info.quantisation,
                                human_bytes(info.weights_bytes).c_str(), describe_threads(info).c_str(),
                                info.context_count);
}

namespace {
// What only the command line must refuse: in g4.h a 0 stands for the default, and numbers cannot overflow.
// The rest is the library's.
std::string must_not_be_zero(const std::string& text) {
  float value = 0;
  return CLI::detail::lexical_cast(text, value) && value == 0 ? "0 is not allowed" : "";
}
std::string must_be_seed(const std::string& text) {
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? "" : text + " is not a whole number from 0 to " + std::to_string(UINT64_MAX);
}
}  // namespace

void SamplingOptions::add_to(CLI::App& app) {
  static constexpr const char* kGroup = "Sampling";
  const auto add = [&](const char* name, auto& value, const char* argument, const char* what) {
    return app.add_option(name, value, what)->group(kGroup)->option_text(argument);
  };
  app.add_flag("--greedy", greedy_, "Always the most likely token")->group(kGroup);
  add("--temperature", temperature_, "X", "Higher is wilder, 0 is greedy [1]");
  add("--top-k", top_k_, "K", "Only the K most likely tokens; 0: all [64]")->check(CLI::Range(0, INT32_MAX));
  add("--top-p", top_p_, "X", "Only the most likely tokens that make up this share; 1: all [0.95]")
      ->check(must_not_be_zero);
  add("--min-p", min_p_, "X", "Only tokens this likely relative to the best [0]");
  add("--repetition-penalty", repetition_penalty_, "X", "Divides the logits of tokens seen; 1: off [1]")
      ->check(must_not_be_zero);
  add("--presence-penalty", presence_penalty_, "X", "Taken once from tokens of the answer [0]");
  add("--frequency-penalty", frequency_penalty_, "X", "Taken for each use from tokens of the answer [0]");
  add("--seed", seed_, "N", "Same seed, same text (default: random; --stats shows it)")->check(must_be_seed);
}

g4_sampling SamplingOptions::sampling() {
  if (!seed_) {
    std::random_device device;
    seed_ = (static_cast<uint64_t>(device()) << 32) | device();
  }
  g4_sampling sampling = G4_INIT(g4_sampling);
  sampling.flags = greedy_ || temperature_ == 0 ? G4_SAMPLING_GREEDY : 0;
  sampling.temperature = temperature_;
  sampling.top_k = top_k_ == 0 ? -1 : top_k_;  // in g4.h 0 stands for the default
  sampling.top_p = top_p_;
  sampling.min_p = min_p_;
  sampling.repetition_penalty = repetition_penalty_;
  sampling.presence_penalty = presence_penalty_;
  sampling.frequency_penalty = frequency_penalty_;
  sampling.seed = *seed_;
  return sampling;
}
}  // namespace g4::cli
