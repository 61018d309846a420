// How pictures, sounds and videos stand in a prompt, as the reference writes them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "media/media_run.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace g4 {
// One picture; the clips of a sound, one after the other; the frames of a video.
struct Media {
  MediaKind kind = MediaKind::kImage;  // of all its runs
  struct Part {
    uint64_t begin_ns = 0, end_ns = 0;  // of a clip; begin_ns of a frame
    MediaRunPtr run;
  };
  std::vector<Part> parts;
};

// The text of a prompt with one placeholder for each run: "<|image><|image|><image|>"; a video's frames with
// their times, "00:01 <|image><|video|><image|> 00:02 ...".
ChatMedia media_text(const Media& media);
// Puts the tokens of the runs in the place of their placeholders, in order. Errors: argument (placeholders
// and runs do not agree), unsupported (a vocabulary without placeholders).
StatusOr<std::vector<int32_t>> place_media(std::span<const int32_t> tokens,
                                           std::span<const Media* const> media, const SpecialTokens& special);
// The tokens of media_text with those of the runs in their places. Errors: as place_media.
StatusOr<std::vector<int32_t>> media_tokens(const Media& media, const Tokenizer& tokenizer);
}  // namespace g4
