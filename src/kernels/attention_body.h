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

// score[r][first + p] = q[r] . k[first + p] for kRows query rows and p < kPositions.
template <class V, class Rows, size_t kRows, size_t kPositions>
void score_tile(const float* q, size_t E, const uint8_t* k, size_t first, float (*score)[kPagePositions]) {
  const size_t row_bytes = kv_row_bytes(Rows::kType, E);
  typename V::Floats sums[kRows][kPositions];
  for (auto& row : sums)
    for (auto& sum : row) sum = V::broadcast(0.0f);
  for (size_t e = 0; e < E; e += V::kLanes) {
    typename V::Floats keys[kPositions];
    for (size_t p = 0; p < kPositions; ++p)
      keys[p] = Rows::template load<V>(k + (first + p) * row_bytes, e, E);
    for (size_t r = 0; r < kRows; ++r) {
      const typename V::Floats query = load_some<V>(q + r * E + e, E - e);
      for (size_t p = 0; p < kPositions; ++p) sums[r][p] = V::fma(query, keys[p], sums[r][p]);
    }
  }
  for (size_t r = 0; r < kRows; ++r)
    for (size_t p = 0; p < kPositions; ++p) score[r][first + p] = V::sum(sums[r][p]);
}

// Turns the scores of a page (-infinity where there is none) into weights relative to the new maximum and
// updates the state. Returns the factor for what was accumulated before.
template <class V>
float update_softmax(float* score, SoftmaxState* state) {
  typename V::Floats top = V::load(score);
  for (size_t p = V::kLanes; p < kPagePositions; p += V::kLanes) top = V::max(V::load(score + p), top);
  float lanes[V::kLanes], largest = state->max;
  V::store(lanes, top);
  for (const float lane : lanes) largest = largest > lane ? largest : lane;

  typename V::Floats total = V::broadcast(0.0f);
  for (size_t p = 0; p < kPagePositions; p += V::kLanes) {
    const typename V::Floats weights = exp<V>(V::sub(V::load(score + p), V::broadcast(largest)));
    V::store(score + p, weights);
    total = V::add(total, weights);
  }
  V::store(lanes, exp<V>(V::broadcast(state->max - largest)));
  const float kept = lanes[0];
  state->max = largest;
  state->sum = state->sum * kept + V::sum(total);
  return kept;
}

// accumulator[r] = kept[r] * accumulator[r] + sum over p of weight[r][p] * v[p]
template <class V, class Rows, size_t kRows>
void accumulate_values(const float (*weight)[kPagePositions], const float* kept, size_t E, const uint8_t* v,
                       size_t begin, size_t end, float* accumulator) {
  const size_t row_bytes = kv_row_bytes(Rows::kType, E);
  for (size_t e = 0; e < E; e += V::kLanes) {
    typename V::Floats sums[kRows];
    for (size_t r = 0; r < kRows; ++r)
      sums[r] = V::mul(load_some<V>(accumulator + r * E + e, E - e), V::broadcast(kept[r]));
    for (size_t p = begin; p < end; ++p) {
      const typename V::Floats values = Rows::template load<V>(v + p * row_bytes, e, E);
      for (size_t r = 0; r < kRows; ++r) sums[r] = V::fma(values, V::broadcast(weight[r][p]), sums[r]);
    }
    for (size_t r = 0; r < kRows; ++r) store_some<V>(accumulator + r * E + e, sums[r], E - e);
  }
}

template <class V, class Rows, size_t kRows>
void attend_rows(const float* q, size_t E, const uint8_t* k, const uint8_t* v, size_t begin, size_t end,
                 SoftmaxState* state, float* accumulator) {
  constexpr size_t kPositions = 2;
  float score[kRows][kPagePositions], kept[kRows];
  for (auto& row : score)
    for (float& value : row) value = -INFINITY;
  size_t p = begin;
  for (; p + kPositions <= end; p += kPositions) score_tile<V, Rows, kRows, kPositions>(q, E, k, p, score);
  for (; p < end; ++p) score_tile<V, Rows, kRows, 1>(q, E, k, p, score);
  for (size_t r = 0; r < kRows; ++r) kept[r] = update_softmax<V>(score[r], &state[r]);
  accumulate_values<V, Rows, kRows>(score, kept, E, v, begin, end, accumulator);
}

template <class V, class Rows>
void attend_page(const float* q, size_t G, size_t E, const void* k, const void* v, int begin, int end,
                 SoftmaxState* state, float* accumulator) {
  if (begin >= end) return;
  const uint8_t* keys = static_cast<const uint8_t*>(k);
  const uint8_t* values = static_cast<const uint8_t*>(v);
  const size_t first = static_cast<size_t>(begin), last = static_cast<size_t>(end);
  for (size_t g = 0; g < G;) {
    const auto attend = G - g >= 4   ? &attend_rows<V, Rows, 4>
                        : G - g >= 2 ? &attend_rows<V, Rows, 2>
                                     : &attend_rows<V, Rows, 1>;
    attend(q + g * E, E, keys, values, first, last, state + g, accumulator + g * E);
    g += G - g >= 4 ? 4 : G - g >= 2 ? 2 : 1;
  }
}

template <class V, class Rows>
void store_kv(const float* x, size_t E, void* row) {
  Rows::template store<V>(x, E, static_cast<uint8_t*>(row));
}
}  // namespace
}  // namespace g4
