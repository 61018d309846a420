// What the commands share of the terminal: output that knows whether a person looks at it, progress bars,
// lines of input, Ctrl-C.
#pragma once
#include <chrono>
#include <cstdint>
#include <g4/g4.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace g4::cli {
// Ends the program: one line of explanation ("" prints nothing) and an exit code.
struct Failure : std::runtime_error {
  Failure(int code, const std::string& message) : std::runtime_error(message), exit_code(code) {}
  int exit_code;
};
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;

// As printf, to a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// 1536 -> "1.5 KiB".
std::string human_bytes(uint64_t bytes);

// The text with control characters but newline and tab replaced, so that a model or a file cannot command the
// terminal.
std::string without_controls(std::string_view text);

enum class Style { kPlain, kDim, kBold, kPrompt };

// Standard output or standard error, unbuffered. On a terminal it takes out control characters and may colour
// (not if NO_COLOR is set or TERM is dumb); elsewhere bytes go out as they are.
class Output {
 public:
  explicit Output(int descriptor);
  bool is_terminal() const { return is_terminal_; }
  // Throws Failure if standard output cannot take it; what standard error cannot take is dropped.
  void write(std::string_view text, Style style = Style::kPlain);
  void erase_line();  // the line the cursor is in; terminals only

 private:
  void write_bytes(std::string_view bytes);

  int descriptor_;
  bool is_terminal_;
  bool is_coloured_;
};

struct Terminal {
  Output out{1};
  Output err{2};
};

// "g4: problem", in one line whatever the problem quotes.
void write_error(Terminal& terminal, std::string problem);

// A bar in the last line of a terminal for work that takes longer than a moment; gone when the object is.
class Progress {
 public:
  Progress(Output& output, std::string label);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(uint64_t done_count, uint64_t total_count);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  Output& output_;
  std::string label_;
  Clock::time_point start_;
  Clock::time_point next_draw_;
  bool is_drawn_ = false;
};

// All of standard input. Throws Failure.
std::string read_standard_input();

// Standard input line by line; Ctrl-C interrupts the wait.
class LineReader {
 public:
  enum class Result { kLine, kEnd, kInterrupted };
  // The next line without its newline. The last line needs none.
  Result read(std::string& line);

 private:
  std::string buffer_;
  bool is_ended_ = false;
};

// Ctrl-C as an event instead of a death. A signal handler can only reach what is global: this state belongs
// to the process.
namespace interrupt {
void install();
bool pending();  // pressed since the last clear
void clear();
// Ends the process the way Ctrl-C ends programs, so that shells and their loops see it (exit code 130).
[[noreturn]] void end_process();

// While it lives, Ctrl-C cancels what the session does.
class Watch {
 public:
  explicit Watch(const Session& session);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
};
}  // namespace interrupt
}  // namespace g4::cli
