#include "media/mel.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <unsupported/Eigen/FFT>

namespace g4 {
namespace {
constexpr size_t kFrame = 320, kHop = 160, kPadding = 160;  // samples; the padding is silence in front
constexpr size_t kFftSize = 512, kBins = kFftSize / 2 + 1;
constexpr double kHighest = 8000;  // Hz
constexpr double kFloor = 1e-3;

// A triangle over the bins of the spectrum.
struct MelFilter {
  size_t first_bin = 0;
  std::vector<double> weights;
};

std::vector<MelFilter> mel_filters() {
  const auto to_mel = [](double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); };
  const auto to_hertz = [](double mel) { return 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0); };
  const auto edge = [&](size_t i) {
    return to_hertz(to_mel(kHighest) * static_cast<double>(i) / static_cast<double>(kMelBins + 1));
  };
  std::vector<MelFilter> filters(kMelBins);
  for (size_t m = 0; m < kMelBins; ++m) {
    const double left = edge(m), middle = edge(m + 1), right = edge(m + 2);
    MelFilter& filter = filters[m];
    for (size_t bin = 0; bin < kBins; ++bin) {
      const double hertz = kHighest * static_cast<double>(bin) / static_cast<double>(kBins - 1);
      const double weight = std::min((hertz - left) / (middle - left), (right - hertz) / (right - middle));
      if (weight <= 0) continue;
      if (filter.weights.empty()) filter.first_bin = bin;
      filter.weights.push_back(weight);
    }
  }
  return filters;
}

// A Hann window of which kFrame is one period.
std::vector<double> hann_window() {
  std::vector<double> window(kFrame);
  for (size_t i = 0; i < kFrame; ++i)
    window[i] = 0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * static_cast<double>(i) / kFrame);
  return window;
}
}  // namespace

// A frame reaches one sample beyond its window.
size_t mel_frames(size_t samples) {
  return samples < kMinClipSamples ? 0 : (samples + kPadding - kFrame - 1) / kHop + 1;
}

std::vector<float> mel_features(std::span<const float> samples, ThreadPool& pool) {
  const size_t frames = mel_frames(samples.size());
  const std::vector<MelFilter> filters = mel_filters();
  const std::vector<double> window = hann_window();
  std::vector<float> features(frames * kMelBins);
  pool.parallel_for(frames, 1, [&](size_t begin, size_t end) {
    Eigen::FFT<double> fft;
    fft.SetFlag(Eigen::FFT<double>::HalfSpectrum);
    std::vector<double> frame(kFftSize), magnitude(kBins);
    std::vector<std::complex<double>> spectrum(kFftSize);
    for (size_t t = begin; t < end; ++t) {
      for (size_t i = 0; i < kFrame; ++i) {
        const size_t at = t * kHop + i;
        frame[i] = at < kPadding ? 0.0 : static_cast<double>(samples[at - kPadding]) * window[i];
      }
      fft.fwd(spectrum.data(), frame.data(), static_cast<Eigen::Index>(kFftSize));
      std::transform(spectrum.begin(), spectrum.begin() + kBins, magnitude.begin(),
                     [](const std::complex<double>& bin) { return std::sqrt(std::norm(bin)); });
      for (size_t m = 0; m < kMelBins; ++m) {
        double sum = 0;
        for (size_t i = 0; i < filters[m].weights.size(); ++i)
          sum += magnitude[filters[m].first_bin + i] * filters[m].weights[i];
        features[t * kMelBins + m] = static_cast<float>(std::log(sum + kFloor));
      }
    }
  });
  return features;
}
}  // namespace g4
