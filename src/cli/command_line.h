// The words of the command line to the command they ask for.
#pragma once
#include <functional>

#include "cli/terminal.h"

namespace g4::cli {
// What to run; for --help and --version, something that writes them. Throws Failure if the command line is
// wrong.
std::function<int(Terminal&)> parse_command_line(int argc, char** argv);
}  // namespace g4::cli
