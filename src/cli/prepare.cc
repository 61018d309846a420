// g4 prepare: a model in the form that opens at once.
#include "cli/commands.h"

namespace g4::cli {
int prepare(Terminal& terminal, const PrepareOptions& options) {
  interrupt::install();
  ModelOptions model;
  model.cpu = options.cpu;
  model.ple_path = options.ple_path;
  model.thread_count = options.thread_count;
  Progress progress(terminal.err, "preparing");
  g4::prepare(options.path, options.out_path, session_options(model), [&](const g4_event& event) {
    progress.update(event.done_count, event.total_count);
    return !interrupt::pending();
  });
  progress.clear();
  terminal.out.write("wrote " + options.out_path + "\n");
  return 0;
}
}  // namespace g4::cli
