// Which model, how to run it, and what to say of it.
#pragma once
#include <cstdint>
#include <g4/g4.hpp>
#include <string>
#include <vector>

#include "cli/terminal.h"

namespace g4::cli {
inline const std::vector<std::string> kKvTypes = {"f16", "f32", "q8_0"};  // from G4_KV_F16 on

struct ModelOptions {
  std::string path;  // "": the demo model
  uint32_t context_count = 0;
  uint32_t thread_count = 0;
  bool pin = false;
  std::string cpu;
  std::string kv_type = kKvTypes[0];
  std::string precision = "int8";  // or f32
  std::string ple_path;
  bool ple_read = false;
  std::string mmproj_path;  // "": none, or the demo model's
};

// The path given, or the demo model's if none is. Throws Failure if there is no demo model beside the
// program.
std::string model_or_demo(const std::string& path);

// Points into `options`.
g4_session_options session_options(const ModelOptions& options);

// Opens a session with a progress bar; Ctrl-C ends it with G4_ERR_CANCELLED if interrupts are installed.
Session open_session(Terminal& terminal, ModelOptions options);

std::string name_of(const g4_info& info);
std::string describe_threads(const g4_info& info);  // "2 threads of avx2"
std::string describe(
    const g4_info& info);  // "g4 demo (custom, Q8_0, 2.4 MiB) on 2 threads of avx2, context 2048"
}  // namespace g4::cli
