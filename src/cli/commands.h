// The commands of g4: each adds itself to the program's options and runs when it was chosen.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

#include "cli/terminal.h"

namespace g4::cli {
struct Command {
  CLI::App* app;
  std::function<int(Terminal&)> run;  // returns the exit code
};

Command add_run(CLI::App& program);
Command add_chat(CLI::App& program);
Command add_info(CLI::App& program);
Command add_tokenize(CLI::App& program);
Command add_bench(CLI::App& program);
}  // namespace g4::cli
