#include "media/mel.h"

#include "tests/media/media_test.h"

namespace g4 {
TEST_CASE("Mel features agree with the reference", "[media]") {
  const Safetensors goldens = media_goldens("mm-tiny");
  const auto samples = to_mono(sound_view(goldens["audio0.pcm"]));
  REQUIRE(samples.ok());
  const auto pool = *ThreadPool::create(2);
  const std::vector<float> mel = mel_features(*samples, *pool);
  const std::span<const float> expected = goldens["audio0.mel"].values<float>();
  // The reference has frames beyond the end, all zero; here they are left out.
  REQUIRE(mel.size() == mel_frames(samples->size()) * kMelBins);
  REQUIRE(mel.size() <= expected.size());
  CHECK(relative_error(mel, expected.first(mel.size())) < 1e-5f);
  for (const float value : expected.subspan(mel.size())) REQUIRE(value == 0);
}

TEST_CASE("Frames and tokens of a clip", "[media]") {
  struct Case {
    size_t samples, frames, tokens;
  };
  for (const Case& c : {Case{0, 0, 0}, Case{1, 0, 0}, Case{160, 0, 0}, Case{161, 1, 1}, Case{320, 1, 1},
                        Case{321, 2, 1}, Case{9600, 59, 15}, Case{kMaxClipSamples, 2999, 750}}) {
    INFO(c.samples);
    CHECK(mel_frames(c.samples) == c.frames);
    CHECK(audio_tokens(c.samples) == c.tokens);
  }
}
}  // namespace g4
