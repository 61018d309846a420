#include "media/resample.h"

#include <numbers>

#include "tests/media/media_test.h"

namespace g4 {
namespace {
std::vector<float> tone(size_t count, double hertz, double rate) {
  std::vector<float> samples(count);
  for (size_t i = 0; i < count; ++i)
    samples[i] =
        static_cast<float>(0.5 * std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i) / rate));
  return samples;
}
}  // namespace

TEST_CASE("A tone stays the same tone at any rate", "[media]") {
  for (const int rate : {8000, 11025, 22050, 44100, 48000, 96000, 16001}) {
    const std::vector<float> samples = tone(static_cast<size_t>(rate), 1000, rate);
    const auto mono = to_mono({samples.data(), samples.size(), 1, rate});
    INFO(rate);
    REQUIRE(mono.ok());
    REQUIRE(mono->size() == 16000);
    const std::vector<float> expected = tone(16000, 1000, 16000);
    float error = 0;  // apart from the ends, where there is silence beyond
    for (size_t i = 500; i < 15500; ++i) error = std::max(error, std::abs((*mono)[i] - expected[i]));
    CHECK(error < 2e-3f);
  }
}

TEST_CASE("Channels are averaged, 16-bit samples scaled", "[media]") {
  const int16_t samples[] = {16384, 0, -32768, -32768, 100, 300};
  const auto mono = to_mono({samples, 3, 2, 16000});
  REQUIRE(mono.ok());
  CHECK(*mono == std::vector<float>{0.25f, -1.0f, 200 / 32768.0f});
}

TEST_CASE("What is no sound is refused with the reason", "[media]") {
  const float sample[] = {0, NAN, INFINITY};
  const auto refused = [](const SoundView& sound, const char* reason) {
    const auto mono = to_mono(sound);
    INFO(mono.status().message());
    CHECK(mono.status().message().find(reason) != std::string::npos);
  };
  refused({sample, 0, 1, 16000}, "no samples");
  refused({static_cast<const float*>(nullptr), 1, 1, 16000}, "NULL");
  refused({sample, 1, 0, 16000}, "0 channels");
  refused({sample, 1, 255, 16000}, "255 channels");
  refused({sample, 1, 1, 0}, "rate of 0");
  refused({sample, 1, 1, 1000000000}, "rate of 1000000000");
  refused({sample, 3, 1, 16000}, "sample 1 is no finite number");
  refused({sample, 3, 1, 44100}, "sample 1 is no finite number");
  CHECK(resampled_count(UINT64_MAX / 2, 44100).status().message().find("too long") != std::string::npos);
}
}  // namespace g4
