// Sound to what the audio tower takes: log-mel features at 16 kHz (gemma4.md 4).
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "base/thread_pool.h"

namespace g4 {
inline constexpr int kSampleRate = 16000;
inline constexpr size_t kMelBins = 128;
inline constexpr size_t kMaxClipSamples = size_t{30} * kSampleRate;
inline constexpr size_t kMinClipSamples = 161;  // fewer make no whole frame

// Frames that lie wholly inside a clip of so many samples.
size_t mel_frames(size_t samples);
// Soft tokens that the tower makes of them.
inline size_t audio_tokens(size_t samples) { return (mel_frames(samples) + 3) / 4; }
// [mel_frames, kMelBins]
std::vector<float> mel_features(std::span<const float> samples, ThreadPool& pool);
}  // namespace g4
