// Pictures and sounds to the rows that stand for them in a prompt.
#pragma once
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "media/image.h"
#include "media/media_run.h"
#include "media/resample.h"
#include "media/tower_layers.h"
#include "media/towers.h"

namespace g4 {
// budget: soft tokens at most, see target_size. Errors: argument (image or budget), unsupported (no vision
// tower, or one too small for this image), cancelled, memory.
StatusOr<MediaRunPtr> encode_image(const Towers& towers, const ImageView& image, int budget, MediaKind kind,
                                   const MediaCompute& compute);

// A clip that was cut for the tower: instants [begin, end) at kSampleRate.
struct SoundClip {
  size_t begin, end;
  MediaRunPtr run;
};
// A sound of at most 30 s is one clip; a longer one, if `split` allows it, several of about equal length.
// Errors: argument (the sound, too short for a token, too long), unsupported (no audio tower), cancelled,
// memory.
StatusOr<std::vector<SoundClip>> encode_sound(const Towers& towers, const SoundView& sound, bool split,
                                              const MediaCompute& compute);
// Tokens of all clips of encode_sound. Errors: argument, as encode_sound.
StatusOr<uint64_t> sound_tokens(uint64_t frame_count, int rate, bool split);
}  // namespace g4
