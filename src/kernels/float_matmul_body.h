// The matrix product in float32. Weights are decoded a stretch of columns at a time, for two groups of rows
// and all tokens, and stay in the first-level cache while tiles of tokens go by.
#pragma once
#include "kernels/matmul_body.h"

namespace g4 {
namespace {
inline constexpr size_t kFloatTokens = 6, kFloatGroups = 2;  // of a tile: 12 sums, 3 operands

struct FloatInput {
  const float* x;
  size_t ldx;
  FloatInput at(size_t t, size_t k) const { return {x + t * ldx + k, ldx}; }
};

// A stretch of one group of rows.
template <class V>
struct FloatGroup {
  using Input = FloatInput;
  const float* values;  // [columns, V::kLanes]

  template <size_t kGroups, size_t kTokens>
  static void add_products(const FloatGroup* groups, size_t columns, const Input& x,
                           typename V::Floats (&sums)[kGroups][kTokens]) {
    for (size_t k = 0; k < columns; ++k) {
      typename V::Floats weights[kGroups];
      for (size_t g = 0; g < kGroups; ++g) weights[g] = V::load(groups[g].values + k * V::kLanes);
      for (size_t t = 0; t < kTokens; ++t) {
        const typename V::Floats value = V::broadcast(x.x[t * x.ldx + k]);
        for (size_t g = 0; g < kGroups; ++g) sums[g][t] = V::fma(weights[g], value, sums[g][t]);
      }
    }
  }
};

template <class V, class Type>
void decode_group(PackedBlock<V> block, float* out) {
  if constexpr (Type::kQuantised) {
    constexpr bool is_signed = Type::kRange == WeightRange::kSigned6 || Type::kRange == WeightRange::kSigned8;
    Panel<V, Type> panel;
    Type::template unpack<V>(block, &panel);
    for (size_t k = 0; k < Type::kBlockValues; ++k) {
      const int byte = static_cast<int>(k % 4);
      const auto q =
          is_signed ? signed_byte<V>(panel.quads[k / 4], byte) : unsigned_byte<V>(panel.quads[k / 4], byte);
      auto value = V::mul(panel.scale[k / Type::kScaleValues], q);
      if constexpr (Type::kHasOffset) value = V::add(value, panel.offset[k / 32]);
      V::store(out + k * V::kLanes, value);
    }
  } else {
    V::store(out, Type::template value<V>(block));
  }
}

// A tile of kTokens, and of as many groups as hold `rows`.
template <class V, size_t kTokens>
void apply_float_tile(const FloatGroup<V>* groups, size_t columns, const FloatInput& x, bool first,
                      size_t rows, float* y, size_t ldy) {
  const auto apply = rows > V::kLanes ? &apply_tile<V, FloatGroup<V>, kFloatGroups, kTokens>
                                      : &apply_tile<V, FloatGroup<V>, 1, kTokens>;
  apply(groups, columns, x, first, rows, y, ldy);
}

template <class V, class Type>
void matmul_f32(const uint8_t* w, size_t N, size_t K, const float* x, size_t ldx, size_t T, float* y,
                size_t ldy) {
  constexpr decltype(&apply_float_tile<V, 1>) kTiles[kFloatTokens] = {
      &apply_float_tile<V, 1>, &apply_float_tile<V, 2>, &apply_float_tile<V, 3>,
      &apply_float_tile<V, 4>, &apply_float_tile<V, 5>, &apply_float_tile<V, 6>};
  alignas(64) float decoded[kFloatGroups][kStretch * V::kLanes];
  for (size_t k = 0; k < K; k += kStretch) {
    const size_t columns = smaller(kStretch, K - k);
    for (size_t n = 0; n < N; n += kFloatGroups * V::kLanes) {
      const size_t rows = smaller(kFloatGroups * V::kLanes, N - n);
      FloatGroup<V> groups[kFloatGroups];
      for (size_t r = 0; r < rows; r += V::kLanes) {
        const uint8_t* bytes = w + (n + r) * bytes_of<Type>(K) + bytes_of<Type>(k) * V::kLanes;
        float* out = decoded[r / V::kLanes];
        groups[r / V::kLanes] = {out};
        if constexpr (Type::kType == DType::kF32)
          groups[r / V::kLanes] = {reinterpret_cast<const float*>(bytes)};  // as they are
        else
          for_each_block<V, Type>(bytes, columns, kAhead, [out](PackedBlock<V> block, size_t b) {
            decode_group<V, Type>(block, out + b * Type::kBlockValues * V::kLanes);
          });
      }
      for (size_t t = 0; t < T; t += kFloatTokens)
        kTiles[smaller(kFloatTokens, T - t) - 1](groups, columns, FloatInput{x, ldx}.at(t, k), k == 0, rows,
                                                 y + t * ldy + n, ldy);
    }
  }
}
}  // namespace
}  // namespace g4
