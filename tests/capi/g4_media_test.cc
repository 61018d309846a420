#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <g4/g4.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/test_data.h"

namespace g4 {
namespace {
// The wrapper's Session is the shortest way to the C functions; what it hides is called directly.
cpp::Session open(bool with_towers = true) {
  const std::string model = golden_path("tiny/mm-tiny/model.gguf"),
                    towers = golden_path("tiny/mm-tiny/mmproj.gguf");
  g4_session_options options = {};
  options.thread_count = 2;
  options.mmproj_path = with_towers ? towers.c_str() : nullptr;
  return cpp::Session::open(model, options);
}

g4_image image_of(const std::vector<uint8_t>& pixels, uint32_t width, uint32_t height) {
  g4_image image = G4_INIT(g4_image);
  image.width = width;
  image.height = height;
  image.channel_count = 3;
  image.pixels = pixels.data();
  return image;
}

g4_sound sound_of(const std::vector<float>& samples, uint32_t rate) {
  g4_sound sound = G4_INIT(g4_sound);
  sound.sample_type = G4_SAMPLE_F32;
  sound.rate = rate;
  sound.channel_count = 1;
  sound.samples = samples.data();
  sound.instant_count = samples.size();
  return sound;
}

g4_status encode(cpp::Session& session, const g4_image& image, uint32_t budget = 70) {
  g4_media* media = nullptr;
  const g4_status status = g4_encode_image(&media, session.get(), &image, budget);
  CHECK((media != nullptr) == (status == G4_OK));
  g4_media_free(media);
  return status;
}

g4_status encode(cpp::Session& session, const g4_sound& sound, uint32_t flags = 0) {
  g4_media* media = nullptr;
  const g4_status status = g4_encode_sound(&media, session.get(), &sound, flags);
  CHECK((media != nullptr) == (status == G4_OK));
  g4_media_free(media);
  return status;
}

std::string tokens_text(const cpp::Session& session, std::vector<int32_t> tokens) {
  std::erase_if(tokens, [](int32_t token) { return token < 0; });
  return session.tokenizer().detokenize(tokens, G4_DETOKENIZE_SPECIAL);
}
}  // namespace

TEST_CASE("g4_media: a picture from pixels to an answer", "[media][capi]") {
  cpp::Session session = open();
  CHECK(session.info().can_see == 1);
  CHECK(session.info().can_hear == 1);
  const std::vector<uint8_t> pixels(3 * 100 * 37, 90);
  const cpp::Media media = session.encode_image(image_of(pixels, 100, 37), 70);
  REQUIRE(media.part_count() == 1);
  const g4_media_part part = media.part(0);
  CHECK(part.row_count == image_tokens(100, 37, 70));
  CHECK(part.row_width == 64);
  CHECK(std::isfinite(part.rows[part.row_count * part.row_width - 1]));
  const std::vector<int32_t> rows = media.tokens(session.tokenizer(), G4_MEDIA_ROWS_ONLY),
                             all = media.tokens(session.tokenizer());
  CHECK(rows.size() == part.row_count);
  CHECK(all.size() == rows.size() + 2);
  CHECK(std::equal(rows.begin(), rows.end(), all.begin() + 1));
  CHECK(tokens_text(session, all) == "<|image><image|>");

  session.prefill(all);
  CHECK(session.position() == all.size());
  CHECK(session.tokens() == all);
  CHECK(session.decode() >= 0);
  cpp::Session fork = session.fork();
  std::vector<int32_t> again = all;
  again.insert(again.end(), all.begin(), all.end());
  CHECK(fork.extend(again) == all.size());
}

TEST_CASE("g4_media: parts of messages become media, in order", "[media][capi]") {
  cpp::Session session = open();
  const std::vector<uint8_t> pixels(3 * 48 * 48, 90);
  const g4_image image = image_of(pixels, 48, 48);
  const uint64_t times[] = {0, 75'000'000'000};
  const g4_image frames[] = {image, image};
  const cpp::Media picture = session.encode_image(image, 70), video = session.encode_video(frames, times);
  const cpp::Media sound = session.encode_sound(sound_of(std::vector<float>(8000), 16000));
  CHECK(video.part_count() == 2);
  CHECK(video.part(1).begin_ns == times[1]);
  CHECK(sound.part(0).end_ns == 500'000'000);
  const char* conversation =
      R"([{"role": "user", "content": [{"type": "video"}, {"type": "text", "text": "a <|image|> b"},
      {"type": "audio"}, {"type": "image"}]}])";
  const g4_media* media[] = {video.get(), sound.get(), picture.get()};
  g4_chat_options options = {};
  options.media = media;
  options.media_count = 3;
  const std::string text = session.tokenizer().chat_render(conversation, options);
  CHECK(text.find("00:00 <|image><|video|><image|> 01:15 <|image><|video|><image|>") != std::string::npos);
  CHECK(text.find("<|audio><|audio|><audio|><|image><|image|><image|>") != std::string::npos);
  const std::vector<int32_t> tokens = session.tokenizer().chat_tokenize(conversation, options);
  CHECK(tokens_text(session, tokens).find("a <|image|> b<|audio><audio|><|image><image|>") !=
        std::string::npos);
  session.prefill(tokens);
  CHECK(session.position() == tokens.size());

  const auto refused = [&](std::vector<const g4_media*> given, const char* reason) {
    options.media = given.data();
    options.media_count = given.size();
    try {
      session.tokenizer().chat_tokenize(conversation, options);
      FAIL("accepted");
    } catch (const cpp::Error& error) {
      INFO(error.what());
      CHECK(error.status() == G4_ERR_ARGUMENT);
      CHECK(std::string(error.what()).find(reason) != std::string::npos);
    }
  };
  refused({video.get(), picture.get(), sound.get()}, "the media given for it is image");
  refused({video.get(), sound.get()}, "more media parts");
  refused({video.get(), sound.get(), picture.get(), picture.get()}, "3 media parts, but 4");
  refused({nullptr}, "NULL");
}

TEST_CASE("g4_media: images of any size give a status", "[media][capi]") {
  cpp::Session session = open();
  const std::vector<uint8_t> pixels(3 * 10000, 1);
  // This tower has 64 positions: the elongated ones are too long for it.
  CHECK(encode(session, image_of(pixels, 1, 1)) == G4_OK);
  CHECK(encode(session, image_of(pixels, 1, 10000)) == G4_ERR_UNSUPPORTED);
  CHECK(encode(session, image_of(pixels, 10000, 1)) == G4_ERR_UNSUPPORTED);
  CHECK(encode(session, image_of(pixels, 0, 7)) == G4_ERR_ARGUMENT);
  CHECK(encode(session, image_of(pixels, 7, 0)) == G4_ERR_ARGUMENT);
  CHECK(encode(session, image_of(pixels, UINT32_MAX, 1)) == G4_ERR_ARGUMENT);
  CHECK(encode(session, image_of(pixels, 65537, 1)) == G4_ERR_ARGUMENT);
  for (const uint32_t budget : {1u, 281u, UINT32_MAX})
    CHECK(encode(session, image_of(pixels, 9, 9), budget) == G4_ERR_ARGUMENT);
  g4_image image = image_of(pixels, 10, 10);
  image.stride_bytes = 29;
  CHECK(encode(session, image) == G4_ERR_ARGUMENT);
  image.stride_bytes = SIZE_MAX;
  CHECK(encode(session, image) == G4_ERR_ARGUMENT);
  image.stride_bytes = 0;
  image.channel_count = 1;
  CHECK(encode(session, image) == G4_ERR_ARGUMENT);
  image.channel_count = 3;
  image.pixels = nullptr;
  CHECK(encode(session, image) == G4_ERR_ARGUMENT);
  image.struct_size = 0;
  CHECK(encode(session, image) == G4_ERR_ARGUMENT);
  // 20000 x 20000 pixels, all in one row: a stride may be as small as a row, never smaller.
  CHECK(image_tokens(20000, 20000, 1120) == 1089);
  CHECK(image_tokens(1, 10000, 280) == 280);
  CHECK(session.position() == 0);
}

TEST_CASE("g4_media: a picture of 20000 x 20000 is read in place", "[media][capi]") {
  cpp::Session session = open();
  // Zero pages that the system shares: 1.2 GB that take no memory unless somebody writes to them.
  const std::unique_ptr<uint8_t, decltype(&std::free)> pixels(
      static_cast<uint8_t*>(std::calloc(size_t{3} * 20000, 20000)), std::free);
  g4_image image = image_of({}, 20000, 20000);
  image.pixels = pixels.get();
  CHECK(encode(session, image) == G4_OK);
}

TEST_CASE("g4_media: sounds of any length give a status", "[media][capi]") {
  cpp::Session session = open();
  const std::vector<float> silence(31 * 16000);
  const auto of_length = [&](uint64_t count, uint32_t rate = 16000) {
    g4_sound sound = sound_of(silence, rate);
    sound.instant_count = count;
    return sound;
  };
  for (const uint64_t count : {0, 1, 160}) CHECK(encode(session, of_length(count)) == G4_ERR_ARGUMENT);
  for (const uint64_t count : {161, 320, 321, 480000}) CHECK(encode(session, of_length(count)) == G4_OK);
  CHECK(encode(session, of_length(31 * 16000)) == G4_ERR_ARGUMENT);
  CHECK(encode(session, of_length(31 * 16000), G4_SOUND_SPLIT) == G4_OK);
  CHECK(encode(session, of_length(UINT64_MAX)) == G4_ERR_ARGUMENT);
  CHECK(encode(session, of_length(UINT64_MAX / 16000, 384000), G4_SOUND_SPLIT) == G4_ERR_ARGUMENT);
  for (const uint32_t rate : {0u, 1u, 1000000000u, UINT32_MAX})
    CHECK(encode(session, of_length(9000, rate)) == G4_ERR_ARGUMENT);
  CHECK(encode(session, of_length(9000), 2) == G4_ERR_ARGUMENT);
  std::vector<float> broken(9000);
  broken[8999] = NAN;
  CHECK(encode(session, sound_of(broken, 16000)) == G4_ERR_ARGUMENT);
  CHECK(std::string(g4_last_error()).find("8999") != std::string::npos);
  g4_sound sound = of_length(9000);
  sound.channel_count = 255;
  CHECK(encode(session, sound) == G4_ERR_ARGUMENT);
  sound = of_length(9000);
  sound.sample_type = 3;
  CHECK(encode(session, sound) == G4_ERR_ARGUMENT);
  CHECK(sound_tokens(480000, 16000) == 750);
  CHECK(sound_tokens(44100, 44100) == 25);
}

TEST_CASE("g4_media: without towers, without arguments", "[media][capi]") {
  cpp::Session session = open(false);
  CHECK(session.info().can_see == 0);
  const std::vector<uint8_t> pixels(3 * 100);
  CHECK(encode(session, image_of(pixels, 10, 10)) == G4_ERR_UNSUPPORTED);
  CHECK(encode(session, sound_of(std::vector<float>(500), 16000)) == G4_ERR_UNSUPPORTED);
  CHECK(g4_encode_image(nullptr, session.get(), nullptr, 0) == G4_ERR_ARGUMENT);
  g4_media* media = nullptr;
  CHECK(g4_encode_image(&media, session.get(), nullptr, 0) == G4_ERR_ARGUMENT);
  CHECK(g4_encode_video(&media, session.get(), nullptr, nullptr, 1, 0) == G4_ERR_ARGUMENT);
  CHECK(g4_encode_video(&media, session.get(), nullptr, nullptr, 0, 0) == G4_ERR_UNSUPPORTED);
  CHECK(g4_media_part_count(nullptr) == 0);
  g4_media_part part = G4_INIT(g4_media_part);
  CHECK(g4_media_get_part(&part, nullptr, 0) == G4_ERR_ARGUMENT);
  size_t needed = 0;
  CHECK(g4_media_tokens(nullptr, 0, &needed, nullptr, nullptr, 0) == G4_ERR_ARGUMENT);
  g4_media_free(nullptr);
}
}  // namespace g4
