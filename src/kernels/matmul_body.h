// The two matrix products. Both take a few rows of W and a stretch of columns at a time, unpack them once and
// use them for every token; what a stretch contributes is added to y. The order of additions behind one y is
// thus fixed by K alone.
#pragma once
#include "kernels/math_body.h"
#include "kernels/table.h"
#include "quant/codec.h"

namespace g4 {
namespace {
inline size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

template <class Type>
constexpr size_t bytes_of(size_t columns) {
  return columns / Type::kBlockValues * sizeof(typename Type::Block);
}

// Asks for a share of the `row_count` rows after these, for each stretch of columns its own: they come next,
// in this call or, most likely, in the one after it. The processor's own prefetching does not follow several
// streams of short runs.
template <class V, class Type>
void prefetch_next(const uint8_t* rows, size_t stride, size_t row_count, size_t k, size_t columns) {
  const uint8_t* share = rows + row_count * stride + row_count * bytes_of<Type>(k);
  for (size_t i = 0; i < row_count * bytes_of<Type>(columns); i += 64) V::prefetch(share + i);
}

// ---- int8: lanes are rows of W, so nothing is summed across lanes.

inline constexpr size_t kStretch = 256;  // columns; the longest block

template <class V, class Type>
struct RowGroup {
  Panel<V, Type> panels[kStretch / Type::kBlockValues];
};

// Unpacks `columns` columns of V::kLanes rows, of which the first `count` exist.
template <class V, class Type>
void unpack_group(const uint8_t* rows, size_t stride, size_t count, size_t columns,
                  RowGroup<V, Type>* group) {
  uint8_t padded[V::kLanes * bytes_of<Type>(kStretch)];
  if (count < V::kLanes) {
    const size_t bytes = bytes_of<Type>(columns);
    memset(padded, 0, sizeof padded);
    for (size_t i = 0; i < count; ++i) memcpy(padded + i * bytes, rows + i * stride, bytes);
    rows = padded;
    stride = bytes;
  }
  for (size_t b = 0; b < columns / Type::kBlockValues; ++b)
    Type::template unpack<V>(rows + b * sizeof(typename Type::Block), stride, &group->panels[b]);
}

// Adds the products of a group and kTokens tokens to sums, a lane a row. x: the first token, at the first
// column of the stretch.
template <class V, class Type, int kTokens>
void dot_group(const RowGroup<V, Type>& group, size_t columns, const QuantizedActivations& x, size_t K,
               typename V::Floats (&sums)[kTokens]) {
  constexpr size_t kParts = Type::kBlockValues / kActivationBlock;
  for (size_t b = 0; b < columns / Type::kBlockValues; ++b) {
    const Panel<V, Type>& panel = group.panels[b];
    for (size_t p = 0; p < kParts; ++p) {
      const typename V::Ints* quads = panel.quads + 8 * p;
      for (size_t t = 0; t < kTokens; ++t) {
        const int8_t* q = x.q + t * K + (b * kParts + p) * kActivationBlock;
        const size_t block = t * (K / kActivationBlock) + b * kParts + p;
        const typename V::Floats scale = V::broadcast(x.scale[block]);
        const typename V::Ints first = V::template dot16<Type::kRange>(V::broadcast_int(0), quads, q);
        if constexpr (Type::kScaleValues == 16) {
          const typename V::Ints second =
              V::template dot16<Type::kRange>(V::broadcast_int(0), quads + 4, q + 16);
          sums[t] = V::fma(V::to_float(first), V::mul(panel.scale[2 * p], scale), sums[t]);
          sums[t] = V::fma(V::to_float(second), V::mul(panel.scale[2 * p + 1], scale), sums[t]);
        } else {
          const typename V::Ints both = V::template dot16<Type::kRange>(first, quads + 4, q + 16);
          sums[t] = V::fma(V::to_float(both), V::mul(panel.scale[p], scale), sums[t]);
        }
        if constexpr (Type::kHasOffset)
          sums[t] = V::fma(panel.offset[p], V::broadcast(x.sum[block]), sums[t]);
      }
    }
  }
}

// y[t, 0 ... count) of kTokens tokens: what they hold unless this is the first stretch, plus the products
// with the group.
template <class V, class Type, int kTokens>
void apply_group(const RowGroup<V, Type>& group, size_t columns, const QuantizedActivations& x, size_t K,
                 bool first, size_t count, float* y, size_t ldy) {
  typename V::Floats sums[kTokens];
  for (size_t t = 0; t < kTokens; ++t)
    sums[t] = first ? V::broadcast(0.0f) : load_some<V>(y + t * ldy, count);
  dot_group<V, Type, kTokens>(group, columns, x, K, sums);
  for (size_t t = 0; t < kTokens; ++t) store_some<V>(y + t * ldy, sums[t], count);
}

template <class V, class Type>
void matmul_i8(const uint8_t* w, size_t stride, size_t N, size_t K, const QuantizedActivations* x, size_t T,
               float* y, size_t ldy) {
  constexpr size_t kLanes = V::kLanes, kTokens = 4;
  // With many tokens several groups share a stretch of activations while it is in the first-level cache; with
  // few, one group keeps the number of streams from memory small.
  constexpr size_t kMaxGroups = 4;
  const size_t step = kLanes * (T < 2 * kTokens ? 1 : kMaxGroups);
  RowGroup<V, Type> groups[kMaxGroups];
  for (size_t n = 0; n < N; n += step) {
    const size_t rows = smaller(step, N - n);
    for (size_t k = 0; k < K; k += kStretch) {
      const size_t columns = smaller(kStretch, K - k);
      for (size_t r = 0; r < rows; r += kLanes)
        unpack_group<V, Type>(w + (n + r) * stride + bytes_of<Type>(k), stride, smaller(kLanes, rows - r),
                              columns, &groups[r / kLanes]);
      prefetch_next<V, Type>(w + n * stride, stride, step, k, columns);
      for (size_t t = 0; t < T;) {
        const QuantizedActivations at = {x->q + t * K + k, x->scale + (t * K + k) / kActivationBlock,
                                         x->sum + (t * K + k) / kActivationBlock};
        const bool whole_tile = T - t >= kTokens;
        for (size_t r = 0; r < rows; r += kLanes) {
          const auto apply = whole_tile ? &apply_group<V, Type, kTokens> : &apply_group<V, Type, 1>;
          apply(groups[r / kLanes], columns, at, K, k == 0, smaller(kLanes, rows - r), y + t * ldy + n + r,
                ldy);
        }
        t += whole_tile ? kTokens : 1;
      }
    }
  }
}

// ---- float32: lanes are columns.

inline constexpr size_t kFloatStretch = 512;  // columns
inline constexpr size_t kFloatRows = 4;

// `count` values of a row from column k, padded with zeros to whole vectors.
template <class V, class Type>
void decode_stretch(const uint8_t* row, size_t k, size_t count, float* values) {
  const uint8_t* source = row + bytes_of<Type>(k);
  size_t done = 0;
  if constexpr (Type::kType == DType::kF16) {
    for (; done + V::kLanes <= count; done += V::kLanes) {
      uint16_t halves[V::kLanes];
      memcpy(halves, source + 2 * done, sizeof halves);
      V::store(values + done, V::load_half(halves));
    }
    source += 2 * done;
  }
  decode_blocks<Type>(source, values + done, count - done);
  for (size_t i = count; i % V::kLanes != 0; ++i) values[i] = 0.0f;
}

// y[t, 0 ... rows) of kTokens tokens plus or, in the first stretch, equal to the products with kFloatRows
// decoded rows.
template <class V, int kTokens>
void apply_rows(const float (*w)[kFloatStretch], size_t count, const float* x, size_t ldx, bool first,
                size_t rows, float* y, size_t ldy) {
  typename V::Floats sums[kFloatRows][kTokens];
  for (auto& row : sums)
    for (auto& sum : row) sum = V::broadcast(0.0f);
  const auto step = [&](size_t k, const auto& load_x) {
    typename V::Floats xs[kTokens];
    for (size_t t = 0; t < kTokens; ++t) xs[t] = load_x(x + t * ldx + k);
    for (size_t r = 0; r < kFloatRows; ++r) {
      const typename V::Floats ws = V::load(w[r] + k);
      for (size_t t = 0; t < kTokens; ++t) sums[r][t] = V::fma(ws, xs[t], sums[r][t]);
    }
  };
  size_t k = 0;
  for (; k + V::kLanes <= count; k += V::kLanes) step(k, [](const float* p) { return V::load(p); });
  if (k < count) step(k, [&](const float* p) { return load_some<V>(p, count - k); });
  for (size_t r = 0; r < rows; ++r)
    for (size_t t = 0; t < kTokens; ++t) {
      float& out = y[t * ldy + r];
      const float sum = V::sum(sums[r][t]);
      out = first ? sum : out + sum;
    }
}

template <class V, class Type>
void matmul_f32(const uint8_t* w, size_t stride, size_t N, size_t K, const float* x, size_t ldx, size_t T,
                float* y, size_t ldy) {
  constexpr size_t kTokens = 3;
  float decoded[kFloatRows][kFloatStretch] = {};
  for (size_t n = 0; n < N; n += kFloatRows) {
    const size_t rows = smaller(kFloatRows, N - n);
    for (size_t k = 0; k < K; k += kFloatStretch) {
      const size_t columns = smaller(kFloatStretch, K - k);
      for (size_t r = 0; r < rows; ++r) decode_stretch<V, Type>(w + (n + r) * stride, k, columns, decoded[r]);
      prefetch_next<V, Type>(w + n * stride, stride, kFloatRows, k, columns);
      for (size_t t = 0; t < T;) {
        const bool whole_tile = T - t >= kTokens;
        const auto apply = whole_tile ? &apply_rows<V, kTokens> : &apply_rows<V, 1>;
        apply(decoded, columns, x + t * ldx + k, ldx, k == 0, rows, y + t * ldy + n, ldy);
        t += whole_tile ? kTokens : 1;
      }
    }
  }
}
}  // namespace
}  // namespace g4
