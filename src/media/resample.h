// Sound in any of the usual forms to the one the features are made of.
#pragma once
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "base/status.h"

namespace g4 {
inline constexpr int kMinRate = 1000, kMaxRate = 384000, kMaxChannels = 32;

// Somebody's samples, the channels of an instant side by side.
struct SoundView {
  std::variant<const float*, const int16_t*> samples;  // float: -1 ... 1
  size_t frame_count = 0;                              // instants
  int channels = 1;
  int rate = 16000;  // instants a second
};

// Samples that resampling makes of so many instants at this rate. Errors: argument (a rate out of range, or
// more than 64 bits can count).
StatusOr<uint64_t> resampled_count(uint64_t frame_count, int rate);
// One channel (their mean) at kSampleRate. Errors: argument (no samples, a rate or number of channels out of
// range, a sample that is no number), memory.
StatusOr<std::vector<float>> to_mono(const SoundView& sound);
}  // namespace g4
