// g4 chat: a conversation. Each turn passes the whole of it; the session evaluates only what is new.
#include <unistd.h>

#include <optional>
#include <utility>

#include "cli/commands.h"
#include "cli/conversation.h"

namespace g4::cli {
namespace {
constexpr const char* kHelp =
    "/reset        forget the conversation\n"
    "/system TEXT  set the system message; without TEXT: take it away\n"
    "/image FILE   send a picture (PNG, JPEG) with the next message\n"
    "/audio FILE   send a sound (WAV, FLAC) with the next message\n"
    "/stats        tokens, times and memory of the last answer\n"
    "/quit         leave, as Ctrl-D does\n"
    "A line that ends with \\ goes on in the next. Ctrl-C stops an answer.\n"
    "To send a message that begins with /, put a space in front.\n";

class Chat {
 public:
  Chat(Terminal& terminal, const ChatOptions& options)
      : terminal_(terminal),
        options_(options),
        media_options_(for_model(options.media, options.model)),
        session_(open_session(terminal, options.model)),
        is_interactive_(isatty(STDIN_FILENO) == 1) {
    conversation_.set_system(options.system);
    attachments_ = attach_all(session_, media_options_);
  }

  int run() {
    if (is_interactive_) greet();
    while (const std::optional<std::string> line = read_message()) {
      if (*line == "/quit") return 0;
      if (line->find_first_not_of(" \t") == std::string::npos) continue;
      take(*line);
      if (is_interactive_) terminal_.err.write("\n");
      interrupt::clear();
    }
    if (is_interactive_) terminal_.err.write("\n");
    return 0;
  }

 private:
  void greet() {
    terminal_.err.write(describe(session_.info()) + "\n/help shows the commands, Ctrl-D leaves.\n\n",
                        Style::kDim);
  }

  // A message of one or more lines; nothing at the end of input or after a second Ctrl-C.
  std::optional<std::string> read_message() {
    std::string message;
    bool was_interrupted = false;
    bool goes_on = false;
    while (true) {
      if (is_interactive_) terminal_.err.write(goes_on ? "... " : "> ", Style::kPrompt);
      std::string line;
      switch (lines_.read(line)) {
        case LineReader::Result::kEnd:
          return goes_on ? std::optional(message) : std::nullopt;
        case LineReader::Result::kInterrupted:
          if (!is_interactive_) interrupt::end_process();
          if (was_interrupted) return std::nullopt;
          terminal_.err.write("\n(Ctrl-C again or Ctrl-D leaves)\n", Style::kDim);
          was_interrupted = true;
          goes_on = false;
          message.clear();
          continue;
        case LineReader::Result::kLine:
          break;
      }
      was_interrupted = false;
      goes_on = line.ends_with('\\');
      if (goes_on) line.back() = '\n';
      message += line;
      if (!goes_on) return message;
    }
  }

  // A command or a message. On failure the conversation is as before.
  void take(const std::string& line) {
    const Conversation before = conversation_;
    const std::vector<Attachment> attachments_before = attachments_;
    try {
      line.starts_with('/') ? obey(line) : answer(line);
    } catch (const Failure& failure) {
      write_error(terminal_, failure.what());
    } catch (const Error& error) {
      conversation_ = before;
      attachments_ = attachments_before;
      const bool is_full = error.status() == G4_ERR_CONTEXT_FULL;
      write_error(terminal_,
                  std::string(error.what()) +
                      (is_full ? " (/reset starts anew; --context sets how many tokens fit)" : ""));
    }
  }

  void obey(const std::string& command) {
    if (command == "/help") {
      terminal_.err.write(kHelp, Style::kDim);
    } else if (command == "/reset") {
      conversation_.clear();
      attachments_.clear();
    } else if (command.starts_with("/image ")) {
      attach(attach_image(session_, command.substr(std::string_view("/image ").size()), media_options_));
    } else if (command.starts_with("/audio ")) {
      attach(attach_sound(session_, command.substr(std::string_view("/audio ").size()), media_options_));
    } else if (command == "/system" || command.starts_with("/system ")) {
      conversation_.set_system(command.substr(std::min(command.size(), std::string_view("/system ").size())));
    } else if (command == "/stats") {
      if (last_) {
        print_stats(terminal_, session_, *last_);
      } else {
        write_error(terminal_, "there is no answer yet");
      }
    } else {
      write_error(terminal_, "there is no command " + command + "; /help shows those there are");
    }
  }

  void attach(Attachment attachment) {
    terminal_.err.write("(" + describe(attachment) + ", for the next message)\n", Style::kDim);
    attachments_.push_back(std::move(attachment));
  }

  void answer(const std::string& message) {
    conversation_.add_user(message, std::exchange(attachments_, {}));
    const TokenizerView tokenizer = session_.tokenizer();
    const std::vector<int32_t> tokens = conversation_.tokenize(tokenizer, options_.answer);
    use_cache(terminal_, session_, options_.cache, tokens);
    last_ = stream_answer(terminal_, session_, tokens, options_.answer);
    if (last_->tokens.empty()) {
      conversation_.take_back();
    } else {
      conversation_.add_message(tokenizer.chat_parse(last_->tokens));
    }
    explain_end(terminal_, session_, *last_);
    if (options_.answer.stats) print_stats(terminal_, session_, *last_);
  }

  Terminal& terminal_;
  const ChatOptions& options_;
  const MediaOptions media_options_;
  Session session_;
  bool is_interactive_;
  LineReader lines_;
  Conversation conversation_;
  std::vector<Attachment> attachments_;  // of the next message
  std::optional<Answer> last_;
};
}  // namespace

int chat(Terminal& terminal, const ChatOptions& options) {
  interrupt::install();
  return Chat(terminal, options).run();
}
}  // namespace g4::cli
