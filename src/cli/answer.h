// Streaming an answer to the terminal, the same way for `run` and `chat`.
#pragma once
#include <cstdint>
#include <g4/g4.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/terminal.h"

namespace g4::cli {
// Gemma's sampling by default.
struct SamplingOptions {
  bool greedy = false;
  float temperature = 1;  // 0: greedy
  int32_t top_k = 64;     // 0: all
  float top_p = 0.95F;
  float min_p = 0;
  float repetition_penalty = 1;
  float presence_penalty = 0;
  float frequency_penalty = 0;
  std::optional<uint64_t> seed;  // none: random, another for each answer
};

struct AnswerOptions {
  SamplingOptions sampling;
  size_t max_token_count = 0;  // 0: no limit
  std::vector<std::string> stops;
  bool thinking = false;
  bool show_thoughts = false;
  bool stats = false;
};

struct Answer {
  g4_generate_result result;
  std::vector<int32_t> tokens;
  uint64_t seed;
};

// Makes the session hold the prompt, evaluating what is new of it with a progress bar, and streams the
// answer: text to standard output, thoughts to standard error if it is a terminal or --show-thoughts is
// given. Ctrl-C ends it with G4_FINISH_CANCELLED, also during the prompt.
Answer stream_answer(Terminal& terminal, Session& session, std::span<const int32_t> prompt,
                     const AnswerOptions& options);

// Says on standard error why an answer ended, where that is not plain to see.
void explain_end(Terminal& terminal, const Session& session, const Answer& answer);

// Tokens, times and memory, to standard error.
void print_stats(Terminal& terminal, const Session& session, const Answer& answer);
}  // namespace g4::cli
