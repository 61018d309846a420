// Generation: sample, evaluate, tell, until something ends it.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "session/sampler.h"
#include "session/session.h"
#include "text/chat_parser.h"

namespace g4 {
enum class Finish : int32_t { kNone, kTurn, kEos, kToolCall, kStopString, kLength, kCallback, kCancelled };

struct GenerateOptions {
  std::span<const int32_t> prompt;  // evaluated first; empty: go on from the session's logits
  bool whole = false;               // the prompt is the whole conversation: as Session::extend
  size_t max_tokens = 0;            // 0: as many as the context holds
  std::vector<std::string>
      stops;  // strings that end the answer and are not part of it; looked for in the text, not in thoughts
  SamplingOptions sampling;
  bool ignore_stop_tokens = false;
};

struct GenerateResult {
  Finish finish = Finish::kNone;
  size_t prompt_tokens = 0;  // evaluated for the prompt
  size_t reused_tokens = 0;  // kept instead
  size_t generated_tokens = 0;
  uint64_t prefill_ns = 0, decode_ns = 0;
};

// Each returns false to stop; an empty function is not called.
struct GenerateEvents {
  std::function<bool(size_t done, size_t total)> prefill;
  std::function<bool(int32_t token, Channel channel, std::string_view text, size_t count)> token;
  std::function<bool(std::span<float> logits)> logits;  // may change them
};

// Finds stop strings in streamed text: holds back what may be the beginning of one.
class StopFinder {
 public:
  explicit StopFinder(std::span<const std::string> stops) : stops_(stops) {}
  // Adds text; returns what may be shown. After a stop was found: what stands before it, and nothing any
  // more.
  std::string push(std::string_view text);
  std::string flush();  // what was held back
  bool found() const { return found_; }

 private:
  std::span<const std::string> stops_;
  std::string held_;
  bool found_ = false;
};

// The same step by step: begin, then a step for each token until finished(). The caller holds Session::Busy
// during each call; the session must stay, and must not move between them.
class Generation {
 public:
  Generation(Session& session, GenerateOptions options);
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;
  // Evaluates the prompt. Errors: as Session::prefill.
  Status begin(const GenerateEvents& events);
  // Picks a token, tells it, evaluates it. Errors: as Session::sample and Session::prefill, state (the
  // session has moved).
  Status step(const GenerateEvents& events);
  bool finished() const { return result_.finish != Finish::kNone; }
  const GenerateResult& result() const { return result_; }

 private:
  Status next_token(const GenerateEvents& events);

  Session& session_;
  GenerateOptions options_;
  GenerateResult result_;
  ChatParser parser_;
  StopFinder stops_;
  int position_ = 0;
  std::string piece_, rest_;
};

// Errors: as Session::prefill and Session::sample. A stop by callback, cancel or length is no error.
StatusOr<GenerateResult> generate(Session& session, const GenerateOptions& options,
                                  const GenerateEvents& events);
}  // namespace g4
