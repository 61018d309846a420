// Attention over one page of KV with online softmax, and writing a KV row. Elements of a page are uint16_t
// (binary16) or float.
#pragma once
#include <math.h>

#include "kernels/math_body.h"

namespace g4 {
namespace {
template <class V>
typename V::Floats load_kv(const float* p) {
  return V::load(p);
}
template <class V>
typename V::Floats load_kv(const uint16_t* p) {
  return V::load_half(p);
}

template <class V, class Kv>
typename V::Floats load_some_kv(const Kv* p, size_t count) {
  if (count >= V::kLanes) return load_kv<V>(p);
  Kv padded[V::kLanes] = {};
  memcpy(padded, p, count * sizeof(Kv));
  return load_kv<V>(padded);
}

// score[r][first + p] = q[r] . k[first + p] for kRows query rows and p < kPositions.
template <class V, class Kv, size_t kRows, size_t kPositions>
void score_tile(const float* q, size_t E, const Kv* k, size_t first, float (*score)[kPagePositions]) {
  typename V::Floats sums[kRows][kPositions];
  for (auto& row : sums)
    for (auto& sum : row) sum = V::broadcast(0.0f);
  for (size_t e = 0; e < E; e += V::kLanes) {
    typename V::Floats keys[kPositions];
    for (size_t p = 0; p < kPositions; ++p) keys[p] = load_some_kv<V>(k + (first + p) * E + e, E - e);
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
template <class V, class Kv, size_t kRows>
void accumulate_values(const float (*weight)[kPagePositions], const float* kept, size_t E, const Kv* v,
                       size_t begin, size_t end, float* accumulator) {
  for (size_t e = 0; e < E; e += V::kLanes) {
    typename V::Floats sums[kRows];
    for (size_t r = 0; r < kRows; ++r)
      sums[r] = V::mul(load_some<V>(accumulator + r * E + e, E - e), V::broadcast(kept[r]));
    for (size_t p = begin; p < end; ++p) {
      const typename V::Floats values = load_some_kv<V>(v + p * E + e, E - e);
      for (size_t r = 0; r < kRows; ++r) sums[r] = V::fma(values, V::broadcast(weight[r][p]), sums[r]);
    }
    for (size_t r = 0; r < kRows; ++r) store_some<V>(accumulator + r * E + e, sums[r], E - e);
  }
}

template <class V, class Kv, size_t kRows>
void attend_rows(const float* q, size_t E, const Kv* k, const Kv* v, size_t begin, size_t end,
                 SoftmaxState* state, float* accumulator) {
  constexpr size_t kPositions = 2;
  float score[kRows][kPagePositions], kept[kRows];
  for (auto& row : score)
    for (float& value : row) value = -INFINITY;
  size_t p = begin;
  for (; p + kPositions <= end; p += kPositions) score_tile<V, Kv, kRows, kPositions>(q, E, k, p, score);
  for (; p < end; ++p) score_tile<V, Kv, kRows, 1>(q, E, k, p, score);
  for (size_t r = 0; r < kRows; ++r) kept[r] = update_softmax<V>(score[r], &state[r]);
  accumulate_values<V, Kv, kRows>(score, kept, E, v, begin, end, accumulator);
}

template <class V, class Kv>
void attend_page(const float* q, size_t G, size_t E, const void* k, const void* v, int begin, int end,
                 SoftmaxState* state, float* accumulator) {
  if (begin >= end) return;
  const Kv* keys = static_cast<const Kv*>(k);
  const Kv* values = static_cast<const Kv*>(v);
  const size_t first = static_cast<size_t>(begin), last = static_cast<size_t>(end);
  for (size_t g = 0; g < G;) {
    const auto attend = G - g >= 4   ? &attend_rows<V, Kv, 4>
                        : G - g >= 2 ? &attend_rows<V, Kv, 2>
                                     : &attend_rows<V, Kv, 1>;
    attend(q + g * E, E, keys, values, first, last, state + g, accumulator + g * E);
    g += G - g >= 4 ? 4 : G - g >= 2 ? 2 : 1;
  }
}

// Half precision ends at 65504; larger values become that and not infinity, which would turn whole softmax
// rows into NaN.
template <class V, class Kv>
void store_kv(const float* x, size_t E, void* row) {
  if constexpr (sizeof(Kv) == sizeof(float)) {
    memcpy(row, x, E * sizeof(float));
  } else {
    const auto limit = V::broadcast(65504.0f), least = V::broadcast(-65504.0f);
    for (size_t e = 0; e < E; e += V::kLanes) {
      uint16_t halves[V::kLanes];
      V::store_half(halves, V::min(limit, V::max(least, load_some<V>(x + e, E - e))));
      memcpy(static_cast<uint16_t*>(row) + e, halves,
             (E - e < V::kLanes ? E - e : V::kLanes) * sizeof(uint16_t));
    }
  }
}
}  // namespace
}  // namespace g4
