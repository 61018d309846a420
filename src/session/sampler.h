// Logits -> token. Deterministic: the random number of a position is a pure function of (seed, position), so
// a fork or a rewind draws the same again.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"

namespace g4 {
struct LogitBias {
  int32_t token;
  float bias;
};

// Applied in this order: penalties, bias, temperature, top-k, top-p, min-p, draw.
struct SamplingOptions {
  float temperature = 1.0f;  // 0: greedy, the lowest id among equals
  int top_k = 64;            // 0: all
  float top_p = 0.95f;       // (0, 1]; 1: all
  float min_p = 0.0f;        // [0, 1); tokens below min_p times the best probability are left out
  float repetition_penalty =
      1.0f;  // > 0; divides positive, multiplies negative logits of the tokens seen (whole history)
  float presence_penalty = 0.0f;   // subtracted once from tokens generated since the last prefill
  float frequency_penalty = 0.0f;  // subtracted per occurrence
  uint64_t seed = 0;
  std::vector<LogitBias> bias;  // -inf forbids a token
};

// Errors: argument, naming the option and its value (NaN, out of range, a bias for an id outside the
// vocabulary).
Status check_sampling(const SamplingOptions& options, size_t vocab_size);

class Sampler {
 public:
  explicit Sampler(size_t vocab_size);  // scratch for one session; pick allocates nothing
  // logits [V], not changed. history: all tokens of the session; generated: the part of it that was
  // generated. position: where the picked token will stand. options have passed check_sampling. NaN logits
  // are treated as -inf; all -inf gives token 0.
  int32_t pick(std::span<const float> logits, std::span<const int32_t> history,
               std::span<const int32_t> generated, uint64_t position, const SamplingOptions& options);
  static uint64_t size_bytes(size_t vocab_size) {
    return vocab_size * (sizeof(float) + sizeof(uint32_t) + sizeof(int32_t));
  }

 private:
  void penalise(std::span<const int32_t> history, std::span<const int32_t> generated,
                const SamplingOptions& options);
  size_t candidates(const SamplingOptions& options);
  std::vector<float> scores_;     // [V]
  std::vector<uint32_t> counts_;  // [V]
  std::vector<int32_t> order_;    // [V]
};
}  // namespace g4
