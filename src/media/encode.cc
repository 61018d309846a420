#include "media/encode.h"

#include "media/audio_tower.h"
#include "media/mel.h"
#include "media/vision_tower.h"

namespace g4 {
namespace {
constexpr uint64_t kMaxClips = 128;  // over an hour: more than any context holds

// Norm without weight, then the projection to the text model's width.
StatusOr<MediaRunPtr> project(std::vector<float> tower, const Matrix& projection, float eps, MediaKind kind,
                              const MediaCompute& compute) {
  const size_t width = projection.cols, count = tower.size() / width;
  TowerLayers layers(compute);
  G4_RETURN_IF_ERROR(layers.reserve(count, {&projection, 1}));
  std::vector<float> rows(count * projection.rows);
  layers.norm(tower.data(), {}, eps, count, width, tower.data());
  layers.apply(projection, tower.data(), count, rows.data());
  if (layers.cancelled()) return cancelled_error();
  return make_media_run(kind, std::move(rows), projection.rows);
}

// Clips that so many samples at kSampleRate make.
StatusOr<uint64_t> clip_count(uint64_t samples, bool split) {
  if (samples < kMinClipSamples)
    return argument_error(StrCat("the sound is ", samples, " samples long at ", kSampleRate,
                                 " Hz; a token takes at least ", kMinClipSamples));
  const uint64_t clips = (samples + kMaxClipSamples - 1) / kMaxClipSamples;
  const uint64_t allowed = split ? kMaxClips : 1;
  if (clips > allowed)
    return argument_error(StrCat("the sound is ", (samples + kSampleRate - 1) / kSampleRate,
                                 " s long; at most ", 30 * allowed, " s are allowed",
                                 split ? "" : ", unless it may be split into clips"));
  return clips;
}
}  // namespace

StatusOr<MediaRunPtr> encode_image(const Towers& towers, const ImageView& image, int budget, MediaKind kind,
                                   const MediaCompute& compute) {
  if (towers.vision.empty()) return unsupported_error("the mmproj file has no vision tower");
  G4_ASSIGN_OR_RETURN(const ImageSize size, target_size(image.width, image.height, budget));
  G4_ASSIGN_OR_RETURN(const std::vector<uint8_t> rgb, resize_image(image, size, compute.pool));
  G4_ASSIGN_OR_RETURN(std::vector<float> tower, run_vision_tower(towers.vision, rgb, size, compute));
  return project(std::move(tower), towers.vision.projection, towers.vision.norm_eps, kind, compute);
}

StatusOr<std::vector<SoundClip>> encode_sound(const Towers& towers, const SoundView& sound, bool split,
                                              const MediaCompute& compute) {
  if (towers.audio.empty()) return unsupported_error("the mmproj file has no audio tower");
  G4_ASSIGN_OR_RETURN(const uint64_t count, resampled_count(sound.frame_count, sound.rate));
  G4_ASSIGN_OR_RETURN(const uint64_t clip_total, clip_count(count, split));
  G4_ASSIGN_OR_RETURN(const std::vector<float> samples, to_mono(sound));
  std::vector<SoundClip> clips(clip_total);
  for (size_t i = 0; i < clips.size(); ++i) {
    SoundClip& clip = clips[i];
    clip.begin = samples.size() * i / clips.size();
    clip.end = samples.size() * (i + 1) / clips.size();
    const std::vector<float> mel =
        mel_features(std::span(samples).subspan(clip.begin, clip.end - clip.begin), compute.pool);
    G4_ASSIGN_OR_RETURN(std::vector<float> tower, run_audio_tower(towers.audio, mel, compute));
    G4_ASSIGN_OR_RETURN(clip.run, project(std::move(tower), towers.audio.projection, towers.audio.norm_eps,
                                          MediaKind::kAudio, compute));
  }
  return clips;
}

StatusOr<uint64_t> sound_tokens(uint64_t frame_count, int rate, bool split) {
  if (frame_count == 0) return argument_error("the sound has no samples");
  G4_ASSIGN_OR_RETURN(const uint64_t samples, resampled_count(frame_count, rate));
  G4_ASSIGN_OR_RETURN(const uint64_t clips, clip_count(samples, split));
  uint64_t tokens = 0;
  for (uint64_t i = 0; i < clips; ++i)
    tokens += audio_tokens(samples * (i + 1) / clips - samples * i / clips);
  return tokens;
}
}  // namespace g4
