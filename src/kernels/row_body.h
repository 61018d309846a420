// Kernels over the values of one row.
#pragma once
#include <math.h>

#include "kernels/math_body.h"

namespace g4 {
namespace {
// function(i, values left from i on) for the start i of every vector of n values.
template <class V, class Function>
void for_each_vector(size_t n, Function function) {
  for (size_t i = 0; i < n; i += V::kLanes) function(i, n - i);
}

// One block: q ~ x / scale, |q| <= kLimit. Returns the sum of q.
template <class V, size_t kBlock, int kLimit, class Integer>
[[gnu::always_inline]] inline float quantize_block(const float* x, Integer* q, float* scale) {
  using Floats = typename V::Floats;
  // The bits of |x| order as integers do, with NaN on top: so NaN and infinity reach the scale on every
  // instruction set.
  typename V::Ints top = V::broadcast_int(0);
  for (size_t i = 0; i < kBlock; i += V::kLanes) top = V::max_int(top, V::bits(absolute<V>(V::load(x + i))));
  float lanes[V::kLanes];
  V::store(lanes, V::from_bits(top));
  uint32_t most = 0;
  for (size_t i = 0; i < V::kLanes; ++i) {
    uint32_t bits;
    memcpy(&bits, &lanes[i], sizeof bits);
    most = bits > most ? bits : most;
  }
  const float largest = float_from_bits(most);
  // Below 1e-30 the reciprocal would overflow: such a block is 0.
  const bool tiny = largest < 1e-30f;
  const Floats inverse = V::broadcast(tiny ? 0.0f : float{kLimit} / largest);
  const Floats limit = V::broadcast(float{kLimit}), magic = V::broadcast(0x1.8p23f);
  Floats total = V::broadcast(0.0f);
  for (size_t i = 0; i < kBlock; i += V::kLanes) {
    const Floats scaled = V::mul(V::load(x + i), inverse);
    const Floats bounded =
        V::max(V::min(scaled, limit), V::sub(V::broadcast(0.0f), limit));  // NaN becomes the limit
    const Floats shifted = V::add(bounded, magic);  // rounds to the nearest, ties to even
    V::store_integers(q + i, V::sub_int(V::bits(shifted), V::bits(magic)));
    total = V::add(total, V::sub(shifted, magic));
  }
  *scale = tiny ? 0.0f : largest / float{kLimit};
  return V::sum(total);
}

template <class V>
void quantize_row(const float* x, size_t K, int8_t* q, float* scale, float* sum) {
  for (size_t k = 0; k < K; k += kActivationBlock, ++scale)
    *sum++ = quantize_block<V, kActivationBlock, 127>(x + k, q + k, scale) * *scale;
}

template <class V>
void rms_norm(const float* x, const float* w, float eps, size_t n, float* y) {
  typename V::Floats squares[4] = {V::broadcast(0.0f), V::broadcast(0.0f), V::broadcast(0.0f),
                                   V::broadcast(0.0f)};
  for_each_vector<V>(n, [&](size_t i, size_t left) {
    const typename V::Floats value = load_some<V>(x + i, left);
    auto& sum = squares[i / V::kLanes % 4];
    sum = V::fma(value, value, sum);
  });
  const float total = V::sum(V::add(V::add(squares[0], squares[1]), V::add(squares[2], squares[3])));
  const auto factor = V::broadcast(1.0f / sqrtf(total / static_cast<float>(n) + eps));
  for_each_vector<V>(n, [&](size_t i, size_t left) {
    const auto value = V::mul(load_some<V>(x + i, left), factor);
    store_some<V>(y + i, w == nullptr ? value : V::mul(value, load_some<V>(w + i, left)), left);
  });
}

template <class V>
void add(float* x, const float* y, size_t n) {
  for_each_vector<V>(n, [=](size_t i, size_t left) {
    store_some<V>(x + i, V::add(load_some<V>(x + i, left), load_some<V>(y + i, left)), left);
  });
}

template <class V>
void scale(float* x, float s, size_t n) {
  for_each_vector<V>(n, [=](size_t i, size_t left) {
    store_some<V>(x + i, V::mul(load_some<V>(x + i, left), V::broadcast(s)), left);
  });
}

// gelu(x) = x (1 + tanh u) / 2 = x / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3). Below -30 it is 0 in
// float32, also for minus infinity, where the formula would give NaN.
template <class V>
typename V::Floats gelu(typename V::Floats gate) {
  const auto x = V::max(V::broadcast(-30.0f), gate);
  const auto cubic = V::mul(V::mul(V::broadcast(0.044715f), x), V::mul(x, x));
  const auto exponent = V::mul(V::broadcast(-1.5957691216f), V::add(x, cubic));
  return V::div(x, V::add(V::broadcast(1.0f), exp<V>(exponent)));
}

template <class V>
void gelu_mul(const float* gate, const float* up, size_t n, float* y) {
  for_each_vector<V>(n, [=](size_t i, size_t left) {
    store_some<V>(y + i, V::mul(gelu<V>(load_some<V>(gate + i, left)), load_some<V>(up + i, left)), left);
  });
}

template <class V>
void sigmoid_mul(const float* gate, const float* x, size_t n, float* y) {
  const auto one = V::broadcast(1.0f);
  for_each_vector<V>(n, [=](size_t i, size_t left) {
    const auto minus = V::sub(V::broadcast(0.0f), load_some<V>(gate + i, left));
    store_some<V>(y + i, V::div(load_some<V>(x + i, left), V::add(one, exp<V>(minus))), left);
  });
}

template <class V>
void softcap(float* x, float cap, size_t n) {
  for_each_vector<V>(n, [=](size_t i, size_t left) {
    const auto ratio = V::div(load_some<V>(x + i, left), V::broadcast(cap));
    store_some<V>(x + i, V::mul(tanh<V>(ratio), V::broadcast(cap)), left);
  });
}

template <class V>
void rope(float* x, const float* cos, const float* sin, size_t half) {
  for_each_vector<V>(half, [=](size_t i, size_t left) {
    const auto a = load_some<V>(x + i, left), b = load_some<V>(x + half + i, left);
    const auto c = load_some<V>(cos + i, left), s = load_some<V>(sin + i, left);
    store_some<V>(x + i, V::sub(V::mul(a, c), V::mul(b, s)), left);
    store_some<V>(x + half + i, V::fma(a, s, V::mul(b, c)), left);
  });
}
}  // namespace
}  // namespace g4
