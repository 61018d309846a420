#include "nn/rope.h"

#include <cmath>

namespace g4 {
std::vector<double> rope_frequencies(double base, int head_dim, std::span<const float> divisors) {
  std::vector<double> frequencies(static_cast<size_t>(head_dim / 2));
  for (size_t j = 0; j < frequencies.size(); ++j) {
    frequencies[j] = std::pow(base, -2.0 * static_cast<double>(j) / head_dim);
    if (!divisors.empty()) frequencies[j] /= static_cast<double>(divisors[j]);
  }
  return frequencies;
}

void rope_angles(int position, std::span<const double> frequencies, float* cos, float* sin) {
  for (size_t j = 0; j < frequencies.size(); ++j) {
    const double angle = position * frequencies[j];
    cos[j] = static_cast<float>(std::cos(angle));
    sin[j] = static_cast<float>(std::sin(angle));
  }
}
}  // namespace g4
