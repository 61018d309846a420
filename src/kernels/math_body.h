// Vectors at the end of an array, exp and tanh.
#pragma once
#include "kernels/table.h"
#include "quant/codec.h"

namespace g4 {
namespace {
inline size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

// The first `count` values, at most V::kLanes, the others `fill`.
template <class V>
typename V::Floats load_some(const float* p, size_t count, float fill = 0.0f) {
  if (count >= V::kLanes) return V::load(p);
  float padded[V::kLanes];
  V::store(padded, V::broadcast(fill));
  memcpy(padded, p, count * sizeof(float));
  return V::load(padded);
}

template <class V>
void store_some(float* p, typename V::Floats a, size_t count) {
  if (count >= V::kLanes) return V::store(p, a);
  float padded[V::kLanes];
  V::store(padded, a);
  memcpy(p, padded, count * sizeof(float));
}

template <class V>
typename V::Floats absolute(typename V::Floats x) {
  return V::from_bits(V::and_int(V::bits(x), V::broadcast_int(0x7fffffff)));
}

// e^x = 2^n p to 2e-7 relative, for |x| < 120: x = n ln 2 + r, p = 1 + r + r^2 P(r), |r| <= ln 2 / 2, P the
// best polynomial for the relative error. Returns p; the low bits of *shifted are n.
template <class V>
typename V::Floats exp_fraction(typename V::Floats x, typename V::Ints* shifted) {
  using Floats = typename V::Floats;
  const Floats magic = V::broadcast(0x1.8p23f);  // adding it rounds to an integer, found in the low bits
  const Floats sum = V::fma(x, V::broadcast(1.442695041f), magic);
  *shifted = V::bits(sum);
  const Floats n = V::sub(sum, magic);
  const Floats high = V::fma(n, V::broadcast(-0.693359375f), x);  // n * 0.693359375 is exact
  const Floats r = V::fma(n, V::broadcast(2.12194440e-4f), high);
  Floats p = V::broadcast(1.3814467e-3f);
  p = V::fma(p, r, V::broadcast(8.368781e-3f));
  p = V::fma(p, r, V::broadcast(4.1668393e-2f));
  p = V::fma(p, r, V::broadcast(1.666652e-1f));
  p = V::fma(p, r, V::broadcast(4.9999994e-1f));
  return V::add(V::fma(V::mul(r, r), p, r), V::broadcast(1.0f));
}

// e^x; 0 far below, infinity above, NaN for NaN. 2^n is applied in two steps because n leaves the range of an
// exponent.
template <class V>
typename V::Floats exp(typename V::Floats x) {
  using Floats = typename V::Floats;
  using Ints = typename V::Ints;
  Ints shifted;
  const Floats p = exp_fraction<V>(V::min(V::broadcast(100.0f), V::max(V::broadcast(-110.0f), x)), &shifted);
  // n + 320 > 0, so that halving it by a shift rounds down; the exponent of 2^i is i + 127.
  const Ints biased = V::sub_int(shifted, V::broadcast_int(0x4b400000 - 320));
  const Ints half = V::shift_right(biased, 1);
  const Ints bias = V::broadcast_int(160 - 127);
  const Floats first = V::from_bits(V::shift_left(V::sub_int(half, bias), 23));
  const Floats second = V::from_bits(V::shift_left(V::sub_int(V::sub_int(biased, half), bias), 23));
  return V::mul(V::mul(p, first), second);
}

// e^x for x <= 0, in fewer steps; what is below e^-86 is e^-86.
template <class V>
typename V::Floats exp_below_one(typename V::Floats x) {
  typename V::Ints shifted;
  const auto p = exp_fraction<V>(V::max(V::broadcast(-86.0f), x), &shifted);
  return V::from_bits(V::add_int(V::bits(p), V::shift_left(shifted, 23)));
}

// tanh x to 5e-7 relative: near 0 an odd polynomial, else 1 - 2 / (e^2|x| + 1) with the sign of x.
template <class V>
typename V::Floats tanh(typename V::Floats x) {
  using Floats = typename V::Floats;
  const Floats a = absolute<V>(x), one = V::broadcast(1.0f), z = V::mul(a, a);
  Floats p = V::broadcast(-6.2742378e-3f);
  p = V::fma(p, z, V::broadcast(2.1071678e-2f));
  p = V::fma(p, z, V::broadcast(-5.385231e-2f));
  p = V::fma(p, z, V::broadcast(1.3332586e-1f));
  p = V::fma(p, z, V::broadcast(-3.3333316e-1f));
  const Floats near = V::fma(V::mul(a, z), p, a);
  const Floats far = V::sub(one, V::div(V::broadcast(2.0f), V::add(exp<V>(V::add(a, a)), one)));
  const Floats magnitude = V::select_less(a, V::broadcast(0.55f), near, far);
  return V::from_bits(V::or_int(V::bits(magnitude), V::and_int(V::bits(x), V::broadcast_int(0x80000000))));
}
}  // namespace
}  // namespace g4
