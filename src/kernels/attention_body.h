// Attention over one page of KV with online softmax, and writing a KV row.
#pragma once
#include <math.h>

#include "kernels/row_body.h"
#include "quant/q8_0.h"

namespace g4 {
namespace {
// What the algorithms need to know of a KvType: load<V>(row, e, E) gives the values from e on of a row, zeros
// beyond E; store<V>(x, E, row) writes one.
struct FloatRows {
  static constexpr KvType kType = KvType::kF32;
  template <class V>
  static typename V::Floats load(const uint8_t* row, size_t e, size_t E) {
    return load_some<V>(reinterpret_cast<const float*>(row) + e, E - e);
  }
  template <class V>
  static void store(const float* x, size_t E, uint8_t* row) {
    memcpy(row, x, E * sizeof(float));
  }
};

struct HalfRows {
  static constexpr KvType kType = KvType::kF16;
  template <class V>
  static typename V::Floats load(const uint8_t* row, size_t e, size_t E) {
    const uint16_t* p = reinterpret_cast<const uint16_t*>(row) + e;
    if (E - e >= V::kLanes) return V::load_half(p);
    uint16_t padded[V::kLanes] = {};
    memcpy(padded, p, (E - e) * sizeof(uint16_t));
    return V::load_half(padded);
  }
  // Half precision ends at 65504; larger values become that and not infinity, which would turn whole softmax
  // rows into NaN.
  template <class V>
  static void store(const float* x, size_t E, uint8_t* row) {
    const auto limit = V::broadcast(65504.0f), least = V::broadcast(-65504.0f);
    for_each_vector<V>(E, [=](size_t e, size_t left) {
      uint16_t halves[V::kLanes];
      V::store_half(halves, V::min(limit, V::max(least, load_some<V>(x + e, left))));
      memcpy(row + e * sizeof(uint16_t), halves, (left < V::kLanes ? left : V::kLanes) * sizeof(uint16_t));
    });
  }
};

struct Q8Rows {
  static constexpr KvType kType = KvType::kQ8_0;
  template <class V>
  static typename V::Floats load(const uint8_t* row, size_t e, size_t) {
    const uint8_t* block = row + e / kActivationBlock * sizeof(Q8_0::Block);
    const auto values = V::load_bytes(block + offsetof(Q8_0::Block, qs) + e % kActivationBlock);
    return V::mul(values, V::broadcast(load_half(block)));
  }
  template <class V>
  static void store(const float* x, size_t E, uint8_t* row) {
    for (size_t e = 0; e < E; e += kActivationBlock, row += sizeof(Q8_0::Block)) {
      float values[kActivationBlock] = {}, scale, sum;
      memcpy(values, x + e, (E - e < kActivationBlock ? E - e : kActivationBlock) * sizeof(float));
      Q8_0::Block block;
      quantize_row<V>(values, kActivationBlock, block.qs, &scale, &sum);
      uint16_t halves[V::kLanes];
      V::store_half(halves, V::min(V::broadcast(65504.0f), V::broadcast(scale)));
      memcpy(block.d, halves, sizeof block.d);
      memcpy(row, &block, sizeof block);
    }
  }
};

// ---- Attention over one page, with online softmax

// Keys and values are decoded to float32 in blocks that stay in the first-level cache, once for all query
// rows.
inline constexpr size_t kKeyColumns = 256, kKeyPositions = 15, kValueColumns = 96, kAttendRows = 64;
// The sums that one tile keeps in registers: of 4 query rows, and 3 keys or 3 vectors of values.
inline constexpr size_t kTileRows = 4, kTileWidth = 3;

// out[p, i] = element e + i of row first + p of a page, for p < positions and i < columns, filled up with
// zeros to a whole vector. out is [positions, kStride].
template <class V, class Rows, size_t kStride>
void decode_rows(const uint8_t* page, size_t E, size_t first, size_t positions, size_t e, size_t columns,
                 float* out) {
  const size_t row_bytes = kv_row_bytes(Rows::kType, E);
  for (size_t p = 0; p < positions; ++p)
    for (size_t i = 0; i < columns; i += V::kLanes)
      V::store(out + p * kStride + i, Rows::template load<V>(page + (first + p) * row_bytes, e + i, E));
}

// score[r][p] += q[r] · keys[p] over some columns, for kRows query rows and kPositions keys.
template <class V, size_t kRows, size_t kPositions>
void add_scores(const float* const* q, size_t e, size_t columns, const float* keys, size_t first,
                float (*score)[kPagePositions]) {
  typename V::Floats sums[kRows][kPositions];
  for (auto& row : sums)
    for (auto& sum : row) sum = V::broadcast(0.0f);
  const auto step = [&](size_t i, const auto& load_query) {
    typename V::Floats key[kPositions];
    for (size_t p = 0; p < kPositions; ++p) key[p] = V::load(keys + p * kKeyColumns + i);
    for (size_t r = 0; r < kRows; ++r) {
      const typename V::Floats query = load_query(q[r] + e + i);
      for (size_t p = 0; p < kPositions; ++p) sums[r][p] = V::fma(query, key[p], sums[r][p]);
    }
  };
  size_t i = 0;
  for (; i + V::kLanes <= columns; i += V::kLanes) step(i, [](const float* p) { return V::load(p); });
  if (i < columns) step(i, [&](const float* p) { return load_some<V>(p, columns - i); });
  for (size_t r = 0; r < kRows; ++r)
    for (size_t p = 0; p < kPositions; ++p) score[r][first + p] += V::sum(sums[r][p]);
}

// score[r][p] = q[r] · k[p] for G query rows and the positions [begin, end); -infinity for the others.
template <class V, class Rows>
void score_page(const float* const* q, size_t G, size_t E, const uint8_t* k, size_t begin, size_t end,
                float (*score)[kPagePositions]) {
  for (size_t r = 0; r < G; ++r)
    for (size_t p = 0; p < kPagePositions; ++p) score[r][p] = begin <= p && p < end ? 0.0f : -INFINITY;
  alignas(64) float keys[kKeyPositions * kKeyColumns];
  for (size_t first = begin; first < end; first += kKeyPositions) {
    const size_t positions = smaller(kKeyPositions, end - first);
    for (size_t e = 0; e < E; e += kKeyColumns) {
      const size_t columns = smaller(kKeyColumns, E - e);
      decode_rows<V, Rows, kKeyColumns>(k, E, first, positions, e, columns, keys);
      for (size_t r = 0; r < G;) {
        const bool high = G - r >= kTileRows;
        for (size_t p = 0; p < positions;) {
          const bool wide = positions - p >= kTileWidth;
          const auto add = high
                               ? (wide ? &add_scores<V, kTileRows, kTileWidth> : &add_scores<V, kTileRows, 1>)
                               : (wide ? &add_scores<V, 1, kTileWidth> : &add_scores<V, 1, 1>);
          add(q + r, e, columns, keys + p * kKeyColumns, first + p, score + r);
          p += wide ? kTileWidth : 1;
        }
        r += high ? kTileRows : 1;
      }
    }
  }
}

// Turns scores (-infinity where there is none) into weights relative to the new maximum and updates the
// state. Returns the factor for what was accumulated before.
template <class V>
float update_softmax(float* score, size_t n, SoftmaxState* state) {
  const auto load = [=](size_t i) { return load_some<V>(score + i, n - i, -INFINITY); };
  typename V::Floats top = load(0);
  for (size_t i = V::kLanes; i < n; i += V::kLanes) top = V::max(load(i), top);
  float lanes[V::kLanes], largest = state->max;
  V::store(lanes, top);
  for (const float lane : lanes) largest = largest > lane ? largest : lane;

  typename V::Floats total = V::broadcast(0.0f);
  for (size_t i = 0; i < n; i += V::kLanes) {
    const typename V::Floats weights = exp_below_one<V>(V::sub(load(i), V::broadcast(largest)));
    store_some<V>(score + i, weights, n - i);
    total = V::add(total, weights);
  }
  V::store(lanes, exp<V>(V::broadcast(state->max - largest)));
  const float kept = lanes[0];
  state->max = largest;
  state->sum = state->sum * kept + V::sum(total);
  return kept;
}

// accumulator[r] += sum over p of weight[r][p] * values[p] over kVectors whole vectors of columns, or over
// the `columns` that the last one has; what was there before counts kept[r] times.
template <class V, size_t kRows, size_t kVectors>
void add_values(const float (*weight)[kPagePositions], const float* kept, const float* values, size_t begin,
                size_t end, float* const* accumulator, size_t e, size_t columns) {
  const auto add = [&](const auto& load, const auto& store) {
    typename V::Floats sums[kRows][kVectors];
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v)
        sums[r][v] = V::mul(load(accumulator[r] + e + v * V::kLanes), V::broadcast(kept[r]));
    for (size_t p = begin; p < end; ++p) {
      typename V::Floats value[kVectors];
      for (size_t v = 0; v < kVectors; ++v) value[v] = V::load(values + p * kValueColumns + v * V::kLanes);
      for (size_t r = 0; r < kRows; ++r) {
        const typename V::Floats w = V::broadcast(weight[r][p]);
        for (size_t v = 0; v < kVectors; ++v) sums[r][v] = V::fma(value[v], w, sums[r][v]);
      }
    }
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) store(accumulator[r] + e + v * V::kLanes, sums[r][v]);
  };
  if (columns >= kVectors * V::kLanes)
    add([](const float* p) { return V::load(p); }, [](float* p, typename V::Floats a) { V::store(p, a); });
  else if constexpr (kVectors == 1)
    add([=](const float* p) { return load_some<V>(p, columns); },
        [=](float* p, typename V::Floats a) { store_some<V>(p, a, columns); });
}

template <class V, class Rows>
void accumulate_page(const float (*weight)[kPagePositions], const float* kept, size_t G, size_t E,
                     const uint8_t* v, size_t begin, size_t end, float* const* accumulator) {
  alignas(64) float values[kPagePositions * kValueColumns];
  for (size_t e = 0; e < E; e += kValueColumns) {
    const size_t columns = smaller(kValueColumns, E - e);
    decode_rows<V, Rows, kValueColumns>(v, E, begin, end - begin, e, columns, values + begin * kValueColumns);
    for (size_t r = 0; r < G;) {
      const bool high = G - r >= kTileRows;
      for (size_t i = 0; i < columns;) {
        const bool wide = columns - i >= kTileWidth * V::kLanes;
        const auto add = high ? (wide ? &add_values<V, kTileRows, kTileWidth> : &add_values<V, kTileRows, 1>)
                              : (wide ? &add_values<V, 1, kTileWidth> : &add_values<V, 1, 1>);
        add(weight + r, kept + r, values + i, begin, end, accumulator + r, e + i, columns - i);
        i += (wide ? kTileWidth : 1) * V::kLanes;
      }
      r += high ? kTileRows : 1;
    }
  }
}

template <class V, class Rows>
void attend_page(const float* const* q, size_t G, size_t E, const void* k, const void* v, int begin, int end,
                 SoftmaxState* state, float* const* accumulator) {
  if (begin >= end) return;
  const size_t first = static_cast<size_t>(begin), last = static_cast<size_t>(end);
  for (size_t g = 0; g < G; g += kAttendRows) {
    const size_t count = smaller(kAttendRows, G - g);
    alignas(64) float score[kAttendRows][kPagePositions], kept[kAttendRows];
    score_page<V, Rows>(q + g, count, E, static_cast<const uint8_t*>(k), first, last, score);
    for (size_t r = 0; r < count; ++r) kept[r] = update_softmax<V>(score[r], kPagePositions, &state[g + r]);
    accumulate_page<V, Rows>(score, kept, count, E, static_cast<const uint8_t*>(v), first, last,
                             accumulator + g);
  }
}

template <class V, class Rows>
void store_kv(const float* x, size_t E, void* row) {
  Rows::template store<V>(x, E, static_cast<uint8_t*>(row));
}
}  // namespace
}  // namespace g4
