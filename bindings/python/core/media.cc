#include "media.h"

#include "failure.h"
#include "fill.h"
#include "tokenizer.h"

namespace g4_python {
std::vector<int32_t> Media::ids(const g4_tokenizer* tokenizer, uint32_t flags) const {
  return fill<std::vector<int32_t>>(300, [&](int32_t* ids, size_t capacity, size_t* needed) {
    return g4_media_tokens(ids, capacity, needed, handle(), tokenizer, flags);
  });
}

std::vector<int32_t> Media::row_ids() const { return ids(nullptr, G4_MEDIA_ROWS_ONLY); }

std::vector<int32_t> Media::ids(const Tokenizer& tokenizer) const { return ids(tokenizer.handle(), 0); }

std::vector<std::tuple<double, double, py::array_t<float>>> Media::parts() const {
  std::vector<std::tuple<double, double, py::array_t<float>>> parts;
  for (size_t index = 0; index < g4_media_part_count(handle()); ++index) {
    g4_media_part part = G4_INIT(g4_media_part);
    check(g4_media_get_part(&part, handle(), index));
    auto* keep = new std::shared_ptr<const g4_media>(handle_);
    const py::capsule owner(
        keep, [](void* pointer) { delete static_cast<std::shared_ptr<const g4_media>*>(pointer); });
    py::array_t<float> rows({part.row_count, part.row_width}, part.rows, owner);
    rows.attr("setflags")(py::arg("write") = false);
    parts.emplace_back(static_cast<double>(part.begin_ns) / 1e9, static_cast<double>(part.end_ns) / 1e9,
                       rows);
  }
  return parts;
}

g4_image image_of(const Pixels& pixels) {
  g4_image image = G4_INIT(g4_image);
  image.height = static_cast<uint32_t>(pixels.shape(0));
  image.width = static_cast<uint32_t>(pixels.shape(1));
  image.channel_count = static_cast<uint32_t>(pixels.shape(2));
  image.pixels = pixels.data();
  return image;
}

uint64_t image_tokens(uint32_t width, uint32_t height, uint32_t budget) {
  uint64_t count = 0;
  check(g4_image_tokens(&count, width, height, budget));
  return count;
}

uint64_t audio_tokens(uint64_t samples, uint32_t rate, bool split) {
  uint64_t count = 0;
  check(g4_sound_tokens(&count, samples, rate, split ? G4_SOUND_SPLIT : 0));
  return count;
}
}  // namespace g4_python
