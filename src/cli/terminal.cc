#include "cli/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace g4::cli {
std::string format(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  va_list again;
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  std::string text(size > 0 ? static_cast<size_t>(size) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

std::string human_bytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return format(unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
}

std::string without_controls(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_c0 = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
    const bool is_c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (is_c0 || is_c1) {
      clean += "\xef\xbf\xbd";  // U+FFFD
      i += is_c1 ? 1 : 0;
    } else {
      clean += text[i];
    }
  }
  return clean;
}

// ---- Output ----------------------------------------------------------------------------------------------

namespace {
bool colour_wanted() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') && term != nullptr && std::strcmp(term, "dumb") != 0;
}

const char* escape_of(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kDim:
      return "\x1b[2m";
    case Style::kBold:
      return "\x1b[1m";
    case Style::kPrompt:
      return "\x1b[1;32m";
  }
  return "";
}
}  // namespace

Output::Output(int descriptor)
    : descriptor_(descriptor),
      is_terminal_(isatty(descriptor) == 1),
      is_coloured_(is_terminal_ && colour_wanted()) {}

void Output::write(std::string_view text, Style style) {
  if (text.empty()) return;
  if (!is_terminal_) return write_bytes(text);
  const std::string clean = without_controls(text);
  if (!is_coloured_ || style == Style::kPlain) return write_bytes(clean);
  write_bytes(escape_of(style) + clean + "\x1b[0m");
}

void Output::erase_line() {
  if (is_terminal_) write_bytes("\r\x1b[K");
}

void Output::write_bytes(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd ready = {descriptor_, POLLOUT, 0};
      poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      if (descriptor_ != STDOUT_FILENO) return;
      // The reader has gone, as `head` does: it knows, so there is nothing to say.
      if (errno == EPIPE) throw Failure(128 + SIGPIPE, "");
      throw Failure(kFailed, format("cannot write to standard output: %s", std::strerror(errno)));
    }
  }
}

void write_error(Terminal& terminal, std::string problem) {
  std::replace(problem.begin(), problem.end(), '\n', ' ');
  terminal.err.write("g4: " + problem + "\n");
}

// ---- Progress --------------------------------------------------------------------------------------------

Progress::Progress(Output& output, std::string label)
    : output_(output),
      label_(std::move(label)),
      start_(Clock::now()),
      next_draw_(start_ + std::chrono::milliseconds(300)) {}

void Progress::update(uint64_t done_count, uint64_t total_count) {
  const Clock::time_point now = Clock::now();
  if (!output_.is_terminal() || total_count == 0 || now < next_draw_) return;
  next_draw_ = now + std::chrono::milliseconds(50);
  static constexpr size_t kWidth = 30;
  const double share = std::min(1.0, static_cast<double>(done_count) / static_cast<double>(total_count));
  const auto filled = static_cast<size_t>(share * kWidth);
  output_.erase_line();
  output_.write(format("%s [%s%s] %3.0f%%", label_.c_str(), std::string(filled, '#').c_str(),
                       std::string(kWidth - filled, '.').c_str(), share * 100),
                Style::kDim);
  is_drawn_ = true;
}

void Progress::clear() {
  if (is_drawn_) output_.erase_line();
  is_drawn_ = false;
}

// ---- Ctrl-C ----------------------------------------------------------------------------------------------

namespace interrupt {
namespace {
std::atomic<bool> is_pending = false;
std::atomic<g4_session*> watched = nullptr;
int wake_pipe[2] = {-1, -1};  // readable when Ctrl-C was pressed: ends a wait for input without a race
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<g4_session*>::is_always_lock_free);

void on_signal(int) {
  const int saved_errno = errno;
  is_pending = true;
  g4_cancel(watched);
  const ssize_t written = ::write(wake_pipe[1], "", 1);
  static_cast<void>(written);  // a full pipe wakes as well
  errno = saved_errno;
}
}  // namespace

void install() {
  if (wake_pipe[0] < 0 && pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw Failure(kFailed, format("cannot make a pipe: %s", std::strerror(errno)));
  }
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

bool pending() { return is_pending; }

void clear() {
  char bytes[16];
  while (wake_pipe[0] >= 0 && ::read(wake_pipe[0], bytes, sizeof(bytes)) > 0) {
  }
  is_pending = false;
}

void end_process() {
  std::signal(SIGINT, SIG_DFL);
  std::raise(SIGINT);
  std::_Exit(128 + SIGINT);  // where SIGINT is blocked
}

Watch::Watch(const Session& session) { watched = session.get(); }
Watch::~Watch() { watched = nullptr; }
}  // namespace interrupt

// ---- Input -----------------------------------------------------------------------------------------------

namespace {
// Appends what is there; false at the end.
bool read_some(std::string& text) {
  char bytes[65536];
  ssize_t count = 0;
  do {
    count = ::read(STDIN_FILENO, bytes, sizeof(bytes));
  } while (count < 0 && errno == EINTR);
  if (count < 0) throw Failure(kFailed, format("cannot read standard input: %s", std::strerror(errno)));
  text.append(bytes, static_cast<size_t>(count));
  return count > 0;
}
}  // namespace

std::string read_standard_input() {
  std::string text;
  while (read_some(text)) {
  }
  return text;
}

LineReader::Result LineReader::read(std::string& line) {
  size_t searched = 0;
  while (true) {
    const size_t newline = buffer_.find('\n', searched);
    if (newline != std::string::npos || (is_ended_ && !buffer_.empty())) {
      line = buffer_.substr(0, newline);
      buffer_.erase(0, newline == std::string::npos ? newline : newline + 1);
      return Result::kLine;
    }
    if (is_ended_) return Result::kEnd;
    searched = buffer_.size();
    pollfd waits[2] = {{STDIN_FILENO, POLLIN, 0}, {interrupt::wake_pipe[0], POLLIN, 0}};
    if (poll(waits, 2, -1) < 0) continue;  // a signal came; the pipe tells which
    if (waits[1].revents != 0) {
      interrupt::clear();
      buffer_.clear();
      return Result::kInterrupted;
    }
    is_ended_ = !read_some(buffer_);
  }
}
}  // namespace g4::cli
