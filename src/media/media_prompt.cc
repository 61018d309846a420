#include "media/media_prompt.h"

namespace g4 {
namespace {
constexpr uint64_t kSecond = 1'000'000'000;

// "mm:ss"
std::string clock_text(uint64_t ns) {
  const auto two = [](uint64_t n) { return StrCat(n < 10 ? "0" : "", n); };
  return StrCat(two(ns / kSecond / 60), ":", two(ns / kSecond % 60));
}

const char* kind_name(MediaKind kind) {
  return kind == MediaKind::kImage ? "image" : kind == MediaKind::kAudio ? "audio" : "video";
}

int32_t placeholder(MediaKind kind, const SpecialTokens& special) {
  return kind == MediaKind::kImage   ? special.image
         : kind == MediaKind::kAudio ? special.audio
                                     : special.video;
}
}  // namespace

ChatMedia media_text(const Media& media) {
  ChatMedia out{kind_name(media.kind), ""};
  for (const Media::Part& part : media.parts) {
    if (media.kind == MediaKind::kVideoFrame)
      out.text += StrCat(out.text.empty() ? "" : " ", clock_text(part.begin_ns), " ");
    out.text += media.kind == MediaKind::kImage   ? "<|image><|image|><image|>"
                : media.kind == MediaKind::kAudio ? "<|audio><|audio|><audio|>"
                                                  : "<|image><|video|><image|>";
  }
  return out;
}

StatusOr<std::vector<int32_t>> place_media(std::span<const int32_t> tokens,
                                           std::span<const Media* const> media,
                                           const SpecialTokens& special) {
  std::vector<const MediaRun*> runs;
  for (const Media* item : media) {
    if (placeholder(item->kind, special) < 0)
      return unsupported_error(StrCat("the vocabulary has no token <|", kind_name(item->kind), "|>"));
    for (const Media::Part& part : item->parts) runs.push_back(part.run.get());
  }
  std::vector<int32_t> out;
  size_t next = 0;
  for (const int32_t token : tokens) {
    if (token != special.image && token != special.audio && token != special.video) {
      out.push_back(token);
      continue;
    }
    if (next == runs.size() || token != placeholder(runs[next]->kind, special))
      return argument_error("the placeholders of pictures and sounds are not those of the media given");
    out.insert(out.end(), runs[next]->tokens.begin(), runs[next]->tokens.end());
    ++next;
  }
  if (next != runs.size()) return argument_error("there is more media than placeholders");
  return out;
}

StatusOr<std::vector<int32_t>> media_tokens(const Media& media, const Tokenizer& tokenizer) {
  G4_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, tokenizer.encode(media_text(media).text, true));
  const Media* const list[] = {&media};
  return place_media(ids, list, tokenizer.special());
}
}  // namespace g4
