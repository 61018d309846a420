// g4, the command line tool: a client of g4.hpp and nothing else of the library.
#include <fcntl.h>
#include <unistd.h>

#include "cli/command_line.h"

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
}  // namespace
}  // namespace g4::cli

int main(int argc, char** argv) {
  using namespace g4::cli;
  occupy_standard_streams();
  Terminal terminal;
  try {
    return parse_command_line(argc, argv)(terminal);
  } catch (const Failure& failure) {
    return fail(terminal, failure.exit_code, failure.what());
  } catch (const g4::Error& error) {
    if (error.status() == G4_ERR_CANCELLED && interrupt::pending()) interrupt::end_process();
    return fail(terminal, kFailed, error.what() + hint(error.status()));
  } catch (const std::exception& error) {
    return fail(terminal, kFailed, error.what());
  }
}
