// Streaming an answer to the terminal, the same way for `run` and `chat`.
#pragma once
#include <CLI/CLI.hpp>
#include <g4/g4.hpp>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/terminal.h"

namespace g4::cli {
class AnswerOptions {
 public:
  void add_to(CLI::App& app);
  g4_chat_options chat_options() const;

  SamplingOptions sampling;
  size_t max_token_count = 0;
  std::vector<std::string> stops;
  bool thinking = false;
  bool show_thoughts = false;
  bool stats = false;
};

// Messages as the text the library takes. Throws Error if a string in them is not UTF-8.
std::string conversation_text(const nlohmann::json& messages);

struct Answer {
  g4_generate_result result;
  std::vector<int32_t> tokens;
  uint64_t seed;
};

// Evaluates the prompt with a progress bar and streams the answer: text to standard output, thoughts to
// standard error if it is a terminal or --show-thoughts is given. Ctrl-C ends it with G4_FINISH_CANCELLED,
// also during the prompt.
Answer stream_answer(Terminal& terminal, Session& session, std::span<const int32_t> prompt,
                     AnswerOptions& options);

// Says on standard error why an answer ended, where that is not plain to see.
void explain_end(Terminal& terminal, const Session& session, const Answer& answer);

// Tokens, times and memory, to standard error.
void print_stats(Terminal& terminal, const Session& session, const Answer& answer);
}  // namespace g4::cli
