#include "session/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/media_token.h"

namespace g4 {
namespace {
constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();

// A number in [0, 1) that depends on seed and position alone (splitmix64).
double uniform(uint64_t seed, uint64_t position) {
  uint64_t z = seed + (position + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
}

Status check_range(const char* name, float value, bool ok, const char* range) {
  return ok ? absl::OkStatus() : argument_error(StrCat(name, " is ", value, "; allowed is ", range));
}
}  // namespace

Status check_sampling(const SamplingOptions& o, size_t vocab_size) {
  G4_RETURN_IF_ERROR(check_range("temperature", o.temperature,
                                 std::isfinite(o.temperature) && o.temperature >= 0, "0 or more"));
  if (o.top_k < 0) return argument_error(StrCat("top_k is ", o.top_k, "; allowed is 0 (all) or more"));
  G4_RETURN_IF_ERROR(check_range("top_p", o.top_p, o.top_p > 0 && o.top_p <= 1, "more than 0, up to 1"));
  G4_RETURN_IF_ERROR(check_range("min_p", o.min_p, o.min_p >= 0 && o.min_p < 1, "0 to less than 1"));
  G4_RETURN_IF_ERROR(check_range("repetition_penalty", o.repetition_penalty,
                                 std::isfinite(o.repetition_penalty) && o.repetition_penalty > 0,
                                 "more than 0"));
  G4_RETURN_IF_ERROR(check_range("presence_penalty", o.presence_penalty, std::isfinite(o.presence_penalty),
                                 "a finite number"));
  G4_RETURN_IF_ERROR(check_range("frequency_penalty", o.frequency_penalty, std::isfinite(o.frequency_penalty),
                                 "a finite number"));
  for (const LogitBias& bias : o.bias) {
    if (bias.token < 0 || static_cast<size_t>(bias.token) >= vocab_size)
      return argument_error(
          StrCat("a logit bias names token ", bias.token, ", outside the vocabulary of ", vocab_size));
    if (std::isnan(bias.bias))
      return argument_error(StrCat("the logit bias of token ", bias.token, " is not a number"));
  }
  return absl::OkStatus();
}

Sampler::Sampler(size_t vocab_size) : scores_(vocab_size), counts_(vocab_size), order_(vocab_size) {}

int32_t Sampler::pick(std::span<const float> logits, std::span<const int32_t> history,
                      std::span<const int32_t> generated, uint64_t position, const SamplingOptions& o) {
  for (size_t i = 0; i < scores_.size(); ++i)
    scores_[i] = std::isnan(logits[i]) ? kNegativeInfinity : logits[i];
  penalise(history, generated, o);
  for (const LogitBias& bias : o.bias) {
    float& score = scores_[static_cast<size_t>(bias.token)];
    score = bias.bias == kNegativeInfinity ? kNegativeInfinity : score + bias.bias;
    if (std::isnan(score)) score = kNegativeInfinity;
  }
  if (o.temperature == 0)
    return static_cast<int32_t>(std::max_element(scores_.begin(), scores_.end()) - scores_.begin());

  const size_t count = candidates(o);
  const double u = uniform(o.seed, position);
  double total = 0;
  for (size_t i = 0; i < count; ++i) total += static_cast<double>(scores_[static_cast<size_t>(order_[i])]);
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += static_cast<double>(scores_[static_cast<size_t>(order_[i])]);
    if (u * total < sum) return order_[i];
  }
  return order_[0];  // all scores were -inf, or rounding at the very end
}

void Sampler::penalise(std::span<const int32_t> history, std::span<const int32_t> generated,
                       const SamplingOptions& o) {
  if (o.repetition_penalty != 1) {
    // counts_ marks the tokens done, so that each is penalised once.
    for (const int32_t token : history) {
      if (is_media(token) || counts_[static_cast<size_t>(token)]++ > 0) continue;
      float& score = scores_[static_cast<size_t>(token)];
      score = score > 0 ? score / o.repetition_penalty : score * o.repetition_penalty;
    }
    for (const int32_t token : history)
      if (!is_media(token)) counts_[static_cast<size_t>(token)] = 0;
  }
  if (o.presence_penalty != 0 || o.frequency_penalty != 0) {
    for (const int32_t token : generated) ++counts_[static_cast<size_t>(token)];
    for (const int32_t token : generated) {
      uint32_t& n = counts_[static_cast<size_t>(token)];
      if (n > 0)
        scores_[static_cast<size_t>(token)] -=
            o.presence_penalty + o.frequency_penalty * static_cast<float>(n);
      n = 0;
    }
  }
}

// Turns scores_ into probabilities up to a factor, and puts the tokens that may be drawn into order_, best
// first. Returns their number.
size_t Sampler::candidates(const SamplingOptions& o) {
  std::iota(order_.begin(), order_.end(), 0);
  const auto better = [this](int32_t a, int32_t b) {
    const float x = scores_[static_cast<size_t>(a)], y = scores_[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  };
  const auto at = [this](size_t n) { return order_.begin() + static_cast<ptrdiff_t>(n); };
  size_t count = o.top_k > 0 ? std::min(order_.size(), static_cast<size_t>(o.top_k)) : order_.size();
  if (count < order_.size()) std::nth_element(order_.begin(), at(count), order_.end(), better);
  std::sort(order_.begin(), at(count), better);

  const float best = scores_[static_cast<size_t>(order_[0])];
  double total = 0;
  for (size_t i = 0; i < count; ++i) {
    float& score = scores_[static_cast<size_t>(order_[i])];
    score = score == kNegativeInfinity ? 0 : score == best ? 1 : std::exp((score - best) / o.temperature);
    total += static_cast<double>(score);
  }
  if (o.top_p < 1) {
    double sum = 0;
    size_t kept = 0;
    while (kept < count && sum < static_cast<double>(o.top_p) * total)
      sum += static_cast<double>(scores_[static_cast<size_t>(order_[kept++])]);
    count = std::max<size_t>(kept, 1);
  }
  if (o.min_p > 0)
    while (count > 1 && scores_[static_cast<size_t>(order_[count - 1])] < o.min_p)
      --count;  // the best has probability 1 here
  return count;
}
}  // namespace g4
