// Options that several commands take: the model, how to run it, how to sample.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <g4/g4.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal.h"

namespace g4::cli {
// The path given, or the demo model's if none is. Throws Failure if there is no demo model beside the
// program.
std::string model_or_demo(const std::string& path);

// MODEL and how to run it.
class ModelOptions {
 public:
  void add_to(CLI::App& app);
  g4_session_options session_options() const;
  std::string path() const { return model_or_demo(path_); }
  // Opens a session with a progress bar; Ctrl-C ends it with G4_ERR_CANCELLED if interrupts are installed.
  Session open(Terminal& terminal) const;

  uint32_t context_count = 0;

 private:
  std::string path_;
  uint32_t thread_count_ = 0;
  std::string cpu_;
  std::string kv_type_ = "f16";
  std::string precision_ = "int8";
  std::string ple_path_;
  bool ple_read_ = false;
};

std::string name_of(const g4_info& info);
std::string describe_threads(const g4_info& info);  // "2 threads of avx2"
// "g4 demo (custom, Q8_0, 2.4 MiB) on 2 threads of avx2, context 2048"
std::string describe(const g4_info& info);

// Gemma's sampling by default.
class SamplingOptions {
 public:
  void add_to(CLI::App& app);
  // Picks a random seed if none was given.
  g4_sampling sampling();

 private:
  bool greedy_ = false;
  float temperature_ = 1.0F;
  int32_t top_k_ = 64;
  float top_p_ = 0.95F;
  float min_p_ = 0;
  float repetition_penalty_ = 1;
  float presence_penalty_ = 0;
  float frequency_penalty_ = 0;
  std::optional<uint64_t> seed_;
};
}  // namespace g4::cli
