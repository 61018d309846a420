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

Generation::Generation(Session& session, GenerateOptions options)
    : session_(session),
      options_(std::move(options)),
      parser_(*session.model().tokenizer()),
      stops_(options_.stops) {}

Status Generation::begin(const GenerateEvents& events) {
  for (const std::string& stop : options_.stops)
    if (stop.empty()) return argument_error("a stop string is empty");
  const uint64_t start = now_ns();
  if (!options_.prompt.empty()) {
    bool stopped = false;
    const PrefillProgress progress = [&](size_t done, size_t total) {
      stopped = events.prefill && !events.prefill(done, total);
      return !stopped;
    };
    StatusOr<size_t> reused = size_t{0};
    if (options_.whole)
      reused = session_.evaluate_whole(options_.prompt, progress);
    else if (Status status = session_.evaluate(options_.prompt, nullptr, progress); !status.ok())
      reused = status;
    if (absl::IsCancelled(reused.status())) {
      result_.finish = stopped ? Finish::kCallback : Finish::kCancelled;
      return absl::OkStatus();
    }
    G4_RETURN_IF_ERROR(reused.status());
    result_.reused_tokens = *reused;
    result_.prompt_tokens = options_.prompt.size() - *reused;
    options_.prompt = {};
  }
  position_ = session_.position();
  result_.prefill_ns = now_ns() - start;
  return absl::OkStatus();
}

Status Generation::step(const GenerateEvents& events) {
  if (session_.position() != position_)
    return state_error(StrCat("the session has moved from position ", position_, " to ", session_.position(),
                              " since the last token of this answer; begin a new one"));
  const uint64_t start = now_ns();
  const Status status = next_token(events);
  position_ = session_.position();
  result_.decode_ns += now_ns() - start;
  return status;
}

Status Generation::next_token(const GenerateEvents& events) {
  const Tokenizer& tokenizer = *session_.model().tokenizer();
  const size_t left = static_cast<size_t>(session_.options().context - session_.position());
  const size_t allowed =
      options_.max_tokens == 0 ? left : std::min(left, options_.max_tokens - result_.generated_tokens);
  if (allowed == 0) {
    result_.finish = Finish::kLength;
    return absl::OkStatus();
  }
  if (events.logits && !events.logits(session_.logits())) {
    result_.finish = Finish::kCallback;
    return absl::OkStatus();
  }
  G4_ASSIGN_OR_RETURN(const int32_t token, session_.pick(options_.sampling));
  const bool stop = tokenizer.is_stop(token) && !options_.ignore_stop_tokens;

  // The text goes out before the token is evaluated: the reader does not wait for the next one.
  Channel channel = parser_.push(token, &piece_);
  if (channel == Channel::kText) piece_ = stops_.push(piece_);
  if ((stop || allowed == 1) && !stops_.found()) {
    const Channel end = parser_.finish(&rest_);
    piece_ += end == Channel::kText ? stops_.push(rest_) + stops_.flush() : rest_;
    if (piece_.empty()) channel = end;
  }
  if (stops_.found())
    result_.finish = Finish::kStopString;
  else if (stop)
    result_.finish = finish_of(tokenizer.special(), token);
  else if (allowed == 1)
    result_.finish = Finish::kLength;
  if (events.token && !events.token(token, channel, piece_, result_.generated_tokens + 1))
    result_.finish = Finish::kCallback;

  const Status status = session_.append_generated(token);
  if (absl::IsCancelled(status)) {
    result_.finish = Finish::kCancelled;
    return absl::OkStatus();
  }
  if (status.ok()) ++result_.generated_tokens;
  return status;
}

StatusOr<GenerateResult> generate(Session& session, const GenerateOptions& options,
                                  const GenerateEvents& events) {
  Session::Busy busy(session);
  G4_RETURN_IF_ERROR(busy.status());
  Generation generation(session, options);
  G4_RETURN_IF_ERROR(generation.begin(events));
  while (!generation.finished()) G4_RETURN_IF_ERROR(generation.step(events));
  return generation.result();
}
}  // namespace g4
