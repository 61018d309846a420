#include "media/media_prompt.h"

#include "tests/media/media_test.h"

namespace g4 {
namespace {
Media media_of(MediaKind kind, std::vector<uint64_t> times_ns) {
  Media media{kind, {}};
  for (const uint64_t time : times_ns)
    media.parts.push_back({time, time, make_media_run(kind, {static_cast<float>(time), 1}, 1)});
  return media;
}
SpecialTokens vocabulary() {
  SpecialTokens special;
  special.image = 10, special.audio = 11, special.video = 12;
  return special;
}
}  // namespace

TEST_CASE("Media as the reference writes it", "[media]") {
  CHECK(media_text(media_of(MediaKind::kImage, {0})).text == "<|image><|image|><image|>");
  CHECK(media_text(media_of(MediaKind::kAudio, {0, 1})).text ==
        "<|audio><|audio|><audio|><|audio><|audio|><audio|>");
  CHECK(media_text(media_of(MediaKind::kVideoFrame, {0, 61'900'000'000, 6'000'000'000'000})).text ==
        "00:00 <|image><|video|><image|> 01:01 <|image><|video|><image|> 100:00 <|image><|video|><image|>");
  CHECK(media_text(media_of(MediaKind::kVideoFrame, {0})).kind == "video");
}

TEST_CASE("Placeholders become rows, in order and of their kind", "[media]") {
  const Media image = media_of(MediaKind::kImage, {0}), video = media_of(MediaKind::kVideoFrame, {1, 2});
  const Media* const list[] = {&image, &video};
  const std::vector<int32_t> tokens = {2, 10, 3, 12, 4, 12, 5};
  const auto placed = place_media(tokens, list, vocabulary());
  REQUIRE(placed.ok());
  std::vector<int32_t> expected = {2};
  const auto add = [&](const Media& media, size_t part, int32_t after) {
    expected.insert(expected.end(), media.parts[part].run->tokens.begin(),
                    media.parts[part].run->tokens.end());
    expected.push_back(after);
  };
  add(image, 0, 3), add(video, 0, 4), add(video, 1, 5);
  CHECK(*placed == expected);
  CHECK(
      absl::IsInvalidArgument(place_media(std::vector<int32_t>{2, 12, 10, 12}, list, vocabulary()).status()));
  CHECK(absl::IsInvalidArgument(place_media(std::vector<int32_t>{2, 10, 12}, list, vocabulary()).status()));
  CHECK(absl::IsInvalidArgument(
      place_media(std::vector<int32_t>{10, 12, 12, 12}, list, vocabulary()).status()));
  CHECK(absl::IsUnimplemented(place_media(tokens, list, SpecialTokens{}).status()));
}
}  // namespace g4
