// Rotary position embedding: frequencies once per model, angles once per batch.
#pragma once
#include <span>
#include <vector>

namespace g4 {
// [head_dim/2] frequencies base^(-2j/head_dim), divided by divisors[j] where given (1, or 1e30 for a pair
// that is not rotated).
std::vector<double> rope_frequencies(double base, int head_dim, std::span<const float> divisors);
// cos and sin of position * frequency, [frequencies] each. In double: at position 131071 a float angle is off
// by 0.004.
void rope_angles(int position, std::span<const double> frequencies, float* cos, float* sin);
}  // namespace g4
