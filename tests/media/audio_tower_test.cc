#include "media/audio_tower.h"

#include "media/mel.h"
#include "tests/media/media_test.h"

namespace g4 {
TEST_CASE("The audio tower agrees with the reference", "[media]") {
  const auto towers = open_tiny_towers("mm-tiny");
  const Safetensors goldens = media_goldens("mm-tiny");
  for (const std::string sound : {"audio0", "audio1"}) {
    TestCompute test;
    const auto samples = to_mono(sound_view(goldens[sound + ".pcm"]));
    const auto tower = run_audio_tower(towers->audio, mel_features(*samples, *test.pool), test.compute);
    INFO(sound);
    REQUIRE(tower.ok());
    // The reference also gives tokens for the padding at the end.
    const auto expected = goldens[sound + ".tower"].values<float>();
    CHECK(tower->size() == audio_tokens(samples->size()) * towers->audio.output.rows);
    CHECK(relative_error(*tower, expected.first(std::min(expected.size(), tower->size()))) < 1e-5f);
  }
}

TEST_CASE("What comes later in a clip changes nothing before it", "[media]") {
  const auto towers = open_tiny_towers("mm-tiny");
  TestCompute test;
  std::vector<float> mel(37 * kMelBins);
  for (size_t i = 0; i < mel.size(); ++i) mel[i] = std::sin(static_cast<float>(i));
  const auto whole = run_audio_tower(towers->audio, mel, test.compute);
  const auto part = run_audio_tower(towers->audio, std::span(mel).first(21 * kMelBins), test.compute);
  REQUIRE(whole.ok());
  REQUIRE(part.ok());
  // The last token of the part still sees one frame beyond its end.
  const size_t same = part->size() - towers->audio.output.rows;
  CHECK(std::equal(part->begin(), part->begin() + static_cast<ptrdiff_t>(same), whole->begin()));
}
}  // namespace g4
