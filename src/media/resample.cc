#include "media/resample.h"

#include <speex/speex_resampler.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/checked.h"
#include "media/mel.h"

namespace g4 {
namespace {
using Resampler = std::unique_ptr<SpeexResamplerState, decltype(&speex_resampler_destroy)>;
constexpr int kBestQuality = 10;
constexpr size_t kBlock = 8192;  // instants given to the resampler at once

// The mean of the channels from instant `begin` on.
template <typename Sample>
Status mix(const Sample* samples, size_t channels, size_t begin, std::span<float> out) {
  constexpr float kScale = std::is_same_v<Sample, float> ? 1.0f : 1.0f / 32768.0f;
  const float weight = kScale / static_cast<float>(channels);
  for (size_t i = 0; i < out.size(); ++i) {
    float sum = 0;
    for (size_t c = 0; c < channels; ++c) sum += static_cast<float>(samples[(begin + i) * channels + c]);
    out[i] = sum * weight;
    if (!std::isfinite(out[i])) return argument_error(StrCat("sample ", begin + i, " is no finite number"));
  }
  return absl::OkStatus();
}

Status mix(const SoundView& sound, size_t begin, std::span<float> out) {
  return std::visit(
      [&](const auto* samples) { return mix(samples, static_cast<size_t>(sound.channels), begin, out); },
      sound.samples);
}

Status check_sound(const SoundView& sound) {
  if (sound.frame_count == 0) return argument_error("the sound has no samples");
  if (std::visit([](const auto* samples) { return samples == nullptr; }, sound.samples))
    return argument_error("the sound's samples are NULL");
  if (sound.channels < 1 || sound.channels > kMaxChannels)
    return argument_error(
        StrCat("the sound has ", sound.channels, " channels; allowed are 1 to ", kMaxChannels));
  return absl::OkStatus();
}

// Feeds the sound and then silence until `out` is full.
Status run(SpeexResamplerState* resampler, const SoundView& sound, std::vector<float>& out) {
  std::vector<float> block(kBlock);
  size_t read = 0, written = 0;
  while (written < out.size()) {
    const size_t count = std::min(kBlock, sound.frame_count - read);
    if (count > 0)
      G4_RETURN_IF_ERROR(mix(sound, read, std::span(block).first(count)));
    else
      std::fill(block.begin(), block.end(), 0.0f);
    spx_uint32_t taken = static_cast<spx_uint32_t>(count > 0 ? count : kBlock);
    spx_uint32_t made = static_cast<spx_uint32_t>(std::min(out.size() - written, size_t{1} << 20));
    if (speex_resampler_process_float(resampler, 0, block.data(), &taken, out.data() + written, &made) != 0)
      return memory_error("no memory for resampling");
    if (count > 0) read += taken;
    written += made;
  }
  return absl::OkStatus();
}
}  // namespace

StatusOr<uint64_t> resampled_count(uint64_t frame_count, int rate) {
  if (rate < kMinRate || rate > kMaxRate)
    return argument_error(
        StrCat("the sound has a rate of ", rate, " Hz; allowed are ", kMinRate, " to ", kMaxRate));
  uint64_t count = 0;
  if (!checked_mul(frame_count, kSampleRate, &count))
    return argument_error(StrCat("a sound of ", frame_count, " samples is too long"));
  return (count + static_cast<uint64_t>(rate) - 1) / static_cast<uint64_t>(rate);
}

StatusOr<std::vector<float>> to_mono(const SoundView& sound) {
  G4_RETURN_IF_ERROR(check_sound(sound));
  G4_ASSIGN_OR_RETURN(const uint64_t count, resampled_count(sound.frame_count, sound.rate));
  std::vector<float> out(count);
  if (sound.rate == kSampleRate) {
    G4_RETURN_IF_ERROR(mix(sound, 0, out));
    return out;
  }
  int error = 0;
  const Resampler resampler(
      speex_resampler_init(1, static_cast<spx_uint32_t>(sound.rate), kSampleRate, kBestQuality, &error),
      speex_resampler_destroy);
  if (resampler == nullptr) return memory_error("no memory for resampling");
  speex_resampler_skip_zeros(resampler.get());  // its delay
  G4_RETURN_IF_ERROR(run(resampler.get(), sound, out));
  return out;
}
}  // namespace g4
