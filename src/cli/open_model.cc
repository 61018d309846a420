#include "cli/open_model.h"

#include <algorithm>
#include <filesystem>

namespace g4::cli {
namespace {
// A file that is installed with the program.
std::string shared_file(const char* name) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path file = program.parent_path().parent_path() / "share/g4" / name;
  if (error || !std::filesystem::exists(file, error)) {
    throw Failure(kFailed, "no demo model at " + file.string() + ": give the path of a GGUF file");
  }
  return file.string();
}
}  // namespace

std::string model_or_demo(const std::string& path) {
  return path.empty() ? shared_file("g4-demo-q8_0.gguf") : path;
}

g4_session_options session_options(const ModelOptions& options) {
  g4_session_options session = G4_INIT(g4_session_options);
  session.context_count = options.context_count;
  session.thread_count = options.thread_count;
  session.flags = (options.ple_read ? G4_SESSION_PLE_READ : 0) | (options.pin ? G4_SESSION_PIN : 0);
  session.kv_type =
      G4_KV_F16 + static_cast<g4_kv_type>(std::ranges::find(kKvTypes, options.kv_type) - kKvTypes.begin());
  session.precision = options.precision == "f32" ? G4_PRECISION_F32 : G4_PRECISION_DEFAULT;
  session.cpu = options.cpu.empty() ? nullptr : options.cpu.c_str();
  session.ple_path = options.ple_path.empty() ? nullptr : options.ple_path.c_str();
  session.mmproj_path = options.mmproj_path.empty() ? nullptr : options.mmproj_path.c_str();
  return session;
}

Session open_session(Terminal& terminal, ModelOptions options) {
  if (options.path.empty() && options.mmproj_path.empty())
    options.mmproj_path = shared_file("mmproj-g4-demo-bf16.gguf");
  Progress progress(terminal.err, "loading");
  return Session::open(model_or_demo(options.path), session_options(options), [&](const g4_event& event) {
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
}  // namespace g4::cli
