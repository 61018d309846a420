#include "session/generate.h"

#include <algorithm>
#include <chrono>

namespace g4 {
namespace {
uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

Finish finish_of(const SpecialTokens& special, int32_t stop_token) {
  if (stop_token == special.turn_end) return Finish::kTurn;
  if (stop_token == special.tool_response_begin) return Finish::kToolCall;
  return Finish::kEos;
}
}  // namespace

std::string StopFinder::push(std::string_view text) {
  if (found_) return {};
  held_ += text;
  size_t hit = std::string::npos;
  for (const std::string& stop : stops_) hit = std::min(hit, held_.find(stop));
  found_ = hit != std::string::npos;
  size_t shown = found_ ? hit : held_.size();
  // Hold back the longest end that begins a stop string.
  for (const std::string& stop : stops_) {
    if (found_) break;
    for (size_t length = std::min(stop.size() - 1, held_.size()); length > held_.size() - shown; --length)
      if (held_.ends_with(std::string_view(stop).substr(0, length))) shown = held_.size() - length;
  }
  std::string out = held_.substr(0, shown);
  held_.erase(0, found_ ? held_.size() : shown);
  return out;
}

std::string StopFinder::flush() { return std::exchange(held_, {}); }

StatusOr<GenerateResult> generate(Session& session, const GenerateOptions& options,
                                  const GenerateEvents& events) {
  Session::Busy busy(session);
  G4_RETURN_IF_ERROR(busy.status());
  for (const std::string& stop : options.stops)
    if (stop.empty()) return argument_error("a stop string is empty");

  GenerateResult result;
  const uint64_t start = now_ns();
  if (!options.prompt.empty()) {
    bool stopped = false;
    const PrefillProgress progress = [&](size_t done, size_t total) {
      stopped = events.prefill && !events.prefill(done, total);
      return !stopped;
    };
    StatusOr<size_t> reused = size_t{0};
    if (options.whole)
      reused = session.evaluate_whole(options.prompt, progress);
    else if (Status status = session.evaluate(options.prompt, nullptr, progress); !status.ok())
      reused = status;
    if (absl::IsCancelled(reused.status())) {
      result.finish = stopped ? Finish::kCallback : Finish::kCancelled;
      return result;
    }
    G4_RETURN_IF_ERROR(reused.status());
    result.reused_tokens = *reused;
    result.prompt_tokens = options.prompt.size() - *reused;
  }
  const uint64_t decode_start = now_ns();
  result.prefill_ns = decode_start - start;

  const Tokenizer& tokenizer = *session.model().tokenizer();
  ChatParser parser(tokenizer);
  StopFinder stops(options.stops);
  std::string piece, rest;
  while (result.finish == Finish::kNone) {
    const size_t left = static_cast<size_t>(session.options().context - session.position());
    const size_t allowed =
        options.max_tokens == 0 ? left : std::min(left, options.max_tokens - result.generated_tokens);
    if (allowed == 0) {
      result.finish = Finish::kLength;
      break;
    }
    if (events.logits && !events.logits(session.logits())) {
      result.finish = Finish::kCallback;
      break;
    }
    G4_ASSIGN_OR_RETURN(const int32_t token, session.pick(options.sampling));
    const bool stop = tokenizer.is_stop(token) && !options.ignore_stop_tokens;

    // The text goes out before the token is evaluated: the reader does not wait for the next one.
    Channel channel = parser.push(token, &piece);
    if (channel == Channel::kText) piece = stops.push(piece);
    const bool last = stop || allowed == 1;
    if (last && !stops.found()) {
      const Channel end = parser.finish(&rest);
      piece += end == Channel::kText ? stops.push(rest) + stops.flush() : rest;
      if (piece.empty()) channel = end;
    }
    if (stops.found())
      result.finish = Finish::kStopString;
    else if (stop)
      result.finish = finish_of(tokenizer.special(), token);
    if (events.token && !events.token(token, channel, piece, result.generated_tokens + 1))
      result.finish = Finish::kCallback;

    const Status status = session.append_generated(token);
    if (absl::IsCancelled(status)) {
      result.finish = Finish::kCancelled;
      break;
    }
    G4_RETURN_IF_ERROR(status);
    ++result.generated_tokens;
  }
  result.decode_ns = now_ns() - decode_start;
  return result;
}
}  // namespace g4
