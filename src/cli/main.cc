// g4, the command line tool: a client of g4.hpp and nothing else of the library.
#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "cli/commands.h"

namespace g4::cli {
namespace {
// A program may be started with standard streams closed; without this a model file could be opened as one of
// them and written to.
void occupy_standard_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    const int opened =
        open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);  // the wrong way round: use is an error
    static_cast<void>(opened);  // takes the lowest free number, which is this one
  }
}

int fail(Terminal& terminal, int exit_code, const std::string& message) {
  if (!message.empty()) write_error(terminal, message);
  return exit_code;
}

std::string hint(g4_status status) {
  switch (status) {
    case G4_ERR_CONTEXT_FULL:
      return " (--context sets how many tokens fit)";
    case G4_ERR_MEMORY:
      return " (`g4 info` says what a model needs; --context makes it less)";
    default:
      return "";
  }
}

// What is wrong with the command line, and where to read how it should be.
std::string usage_message(const CLI::App& program, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = program.get_subcommands();
  if (!chosen.empty())
    return std::string(error.what()) + " (see g4 " + chosen.front()->get_name() + " --help)";
  const std::vector<std::string> words = program.remaining();
  return (words.empty() ? "no command given" : "there is no command " + words.front()) + " (see g4 --help)";
}

int run_program(int argc, char** argv, Terminal& terminal) {
  CLI::App program("g4 runs Gemma 4 models on CPUs.\nMODEL is a GGUF file; left out, it is the demo model.",
                   "g4");
  program.set_version_flag("--version", std::string("g4 ") + g4_version());
  program.require_subcommand(1);
  program.get_formatter()->column_width(34);
  const std::array commands = {add_run(program), add_chat(program), add_info(program), add_tokenize(program),
                               add_bench(program)};
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // help and version
    return fail(terminal, kUsage, usage_message(program, error));
  }
  for (const Command& command : commands) {
    if (*command.app) return command.run(terminal);
  }
  return kUsage;
}
}  // namespace
}  // namespace g4::cli

int main(int argc, char** argv) {
  using namespace g4::cli;
  occupy_standard_streams();
  Terminal terminal;
  try {
    return run_program(argc, argv, terminal);
  } catch (const Failure& failure) {
    return fail(terminal, failure.exit_code, failure.what());
  } catch (const g4::Error& error) {
    if (error.status() == G4_ERR_CANCELLED && interrupt::pending()) interrupt::end_process();
    return fail(terminal, kFailed, error.what() + hint(error.status()));
  } catch (const std::exception& error) {
    return fail(terminal, kFailed, error.what());
  }
}
