#include "media/encode.h"

#include "media/mel.h"
#include "tests/media/media_test.h"

namespace g4 {
namespace {
constexpr size_t kSeconds = 16000;
}

TEST_CASE("Encoded images and sounds agree with the reference", "[media]") {
  for (const std::string model : {"mm-tiny", "mm31b-tiny"}) {
    const auto towers = open_tiny_towers(model);
    const Safetensors goldens = media_goldens(model);
    TestCompute test;
    for (const std::string name : {"image0", "image1", "audio0", "audio1"}) {
      if (!goldens.has(name + ".projected")) continue;
      INFO(model << " " << name);
      const auto expected = goldens[name + ".projected"].values<float>();
      MediaRunPtr run;
      if (goldens.has(name + ".rgb")) {
        run = *encode_image(*towers, image_view(goldens[name + ".rgb"]), 70, MediaKind::kImage, test.compute);
      } else {
        run = (*encode_sound(*towers, sound_view(goldens[name + ".pcm"]), false, test.compute))[0].run;
      }
      CHECK(run->row_count() * run->row_width == expected.size());
      CHECK(relative_error(run->rows, expected) < 1e-5f);
    }
  }
}

TEST_CASE("Threads change no bit of an encoding, kernels little", "[media]") {
  const auto towers = open_tiny_towers("mm-tiny");
  const Safetensors goldens = media_goldens("mm-tiny");
  TestCompute one(1), three(3), generic(2, "generic");
  const ImageView image = image_view(goldens["image1.rgb"]);
  const SoundView sound = sound_view(goldens["audio1.pcm"]);
  const auto a = *encode_image(*towers, image, 140, MediaKind::kImage, one.compute);
  const auto b = *encode_image(*towers, image, 140, MediaKind::kImage, three.compute);
  const auto c = *encode_image(*towers, image, 140, MediaKind::kImage, generic.compute);
  CHECK(a->rows == b->rows);
  CHECK(a->tokens == b->tokens);
  CHECK(relative_error(c->rows, a->rows) < 1e-4f);
  CHECK((*encode_sound(*towers, sound, false, one.compute))[0].run->rows ==
        (*encode_sound(*towers, sound, false, three.compute))[0].run->rows);
  const auto frame = *encode_image(*towers, image, 140, MediaKind::kVideoFrame, one.compute);
  CHECK(frame->rows == a->rows);
  CHECK(frame->tokens != a->tokens);
}

TEST_CASE("Token counts equal the rows that are made", "[media]") {
  const auto towers = open_tiny_towers("mm-tiny");
  TestCompute test;
  for (const size_t count : {size_t{161}, size_t{320}, size_t{321}, size_t{5000}, 30 * kSeconds}) {
    const std::vector<float> silence(count);
    const auto clips = encode_sound(*towers, {silence.data(), count, 1, 16000}, false, test.compute);
    INFO(count);
    REQUIRE(clips.ok());
    CHECK((*clips)[0].run->row_count() == *sound_tokens(count, 16000, false));
  }
  const std::vector<uint8_t> pixels(3 * 100 * 37);
  const auto image =
      encode_image(*towers, {pixels.data(), 100, 37, 3, 300}, 70, MediaKind::kImage, test.compute);
  REQUIRE(image.ok());
  CHECK(static_cast<int>((*image)->row_count()) == target_size(100, 37, 70)->soft_tokens());
}

TEST_CASE("A sound over 30 s is refused, or split where asked", "[media]") {
  const auto towers = open_tiny_towers("mm-tiny");
  TestCompute test;
  const std::vector<float> silence(31 * kSeconds + 7);
  const SoundView sound{silence.data(), silence.size(), 1, 16000};
  const auto refused = encode_sound(*towers, sound, false, test.compute);
  CHECK(absl::IsInvalidArgument(refused.status()));
  CHECK(refused.status().message().find("at most 30 s") != std::string::npos);
  const auto clips = encode_sound(*towers, sound, true, test.compute);
  REQUIRE(clips.ok());
  REQUIRE(clips->size() == 2);
  CHECK((*clips)[0].begin == 0);
  CHECK((*clips)[0].end == (*clips)[1].begin);
  CHECK((*clips)[1].end == silence.size());
  CHECK((*clips)[0].run->row_count() + (*clips)[1].run->row_count() ==
        *sound_tokens(silence.size(), 16000, true));
  CHECK(absl::IsInvalidArgument(sound_tokens(uint64_t{36000} * kSeconds, 16000, true).status()));
}

TEST_CASE("Sounds too short, towers that are not there", "[media]") {
  const auto towers = open_tiny_towers("mm-tiny");
  const auto blind = open_tiny_towers("mm31b-tiny");
  TestCompute test;
  const float samples[200] = {};
  CHECK(absl::IsInvalidArgument(encode_sound(*towers, {samples, 0, 1, 16000}, false, test.compute).status()));
  CHECK(absl::IsInvalidArgument(encode_sound(*towers, {samples, 1, 1, 16000}, false, test.compute).status()));
  CHECK(
      absl::IsInvalidArgument(encode_sound(*towers, {samples, 160, 1, 16000}, false, test.compute).status()));
  CHECK(encode_sound(*towers, {samples, 161, 1, 16000}, false, test.compute).ok());
  CHECK(absl::IsUnimplemented(encode_sound(*blind, {samples, 200, 1, 16000}, false, test.compute).status()));
}
}  // namespace g4
