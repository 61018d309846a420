// The two matrix products with packed weights. Lanes are rows of W, so nothing is ever summed across lanes.
// Both take a few groups of rows and a stretch of columns at a time, unpack them once into the first-level
// cache and use them for every token; what a stretch contributes is added to y. The order of additions behind
// one y is thus fixed by K alone.
#pragma once
#include "kernels/math_body.h"
#include "kernels/table.h"
#include "quant/codec.h"

namespace g4 {
namespace {
inline constexpr size_t kStretch = 256;  // columns; the longest block
inline constexpr size_t kAhead = 4096;   // bytes of weights asked for before they are wanted, in one stream

template <class Type>
constexpr size_t bytes_of(size_t columns) {
  return columns / Type::kBlockValues * sizeof(typename Type::Block);
}

// function(block, b) for the blocks of a stretch of one group. Asks for those `ahead` bytes from them, wanted
// next: the processor's own prefetching knows neither the order nor what lies beyond the end of a page.
template <class V, class Type, class Function>
void for_each_block(const uint8_t* bytes, size_t columns, size_t ahead, Function function) {
  constexpr size_t kBlockBytes = sizeof(typename Type::Block) * V::kLanes, kLine = 64;
  for (size_t b = 0; b < columns / Type::kBlockValues; ++b) {
    const uint8_t* block = bytes + b * kBlockBytes;
    for (size_t i = 0; i < kBlockBytes; i += kLine) V::prefetch(block + ahead + i);
    function(PackedBlock<V>{block}, b);
  }
}

// ---- int8

struct IntegerInput {
  const int8_t* q;
  const float *scale, *sum;
  size_t K;
  IntegerInput at(size_t t, size_t k) const {
    const size_t block = (t * K + k) / kActivationBlock;
    return {q + t * K + k, scale + block, sum + block, K};
  }
};

// dots[g][t] = the products of kQuads quads of each group with the activations of each token, at x + t * K.
template <class V, WeightRange range, size_t kQuads, size_t kGroups, size_t kTokens>
[[gnu::always_inline]] inline void dot_quads(const typename V::Ints* const (&quads)[kGroups], const int8_t* x,
                                             size_t K, typename V::Ints (&dots)[kGroups][kTokens]) {
  using Ints = typename V::Ints;
  constexpr size_t kRun =
      V::kRun[static_cast<size_t>(range)] < kQuads ? V::kRun[static_cast<size_t>(range)] : kQuads;
#pragma GCC unroll 8
  for (size_t i = 0; i < kQuads; i += kRun) {
    Ints run[kGroups][kTokens];
#pragma GCC unroll 8
    for (size_t j = i; j < i + kRun; ++j) {
      Ints weights[kGroups];
      for (size_t g = 0; g < kGroups; ++g) weights[g] = quads[g][j];
      for (size_t t = 0; t < kTokens; ++t) {
        const Ints activations =
            V::broadcast_int(load_u32(reinterpret_cast<const uint8_t*>(x + t * K + 4 * j)));
        for (size_t g = 0; g < kGroups; ++g)
          run[g][t] = V::template add_products<range>(j == i ? V::broadcast_int(0) : run[g][t], weights[g],
                                                      activations);
      }
    }
    for (size_t g = 0; g < kGroups; ++g)
      for (size_t t = 0; t < kTokens; ++t) {
        const Ints sum = V::end_run(run[g][t]);
        dots[g][t] = i == 0 ? sum : V::add_int(dots[g][t], sum);
      }
  }
}

// A stretch of one group of rows.
template <class V, class Type>
struct IntegerGroup {
  using Input = IntegerInput;
  static constexpr size_t kTileTokens = V::kTileTokens;
  static constexpr size_t tile_groups(size_t tokens) { return tokens <= 4 ? 2 : 1; }
  Panel<V, Type> panels[kStretch / Type::kBlockValues];

  void unpack(const uint8_t* bytes, size_t columns, size_t ahead) {
    for_each_block<V, Type>(bytes, columns, ahead, [this](PackedBlock<V> block, size_t b) {
      Type::template unpack<V>(block, &panels[b]);
    });
  }

  // Adds the products of groups and tokens to sums. x: the first token, at the first column of the stretch.
  template <size_t kGroups, size_t kTokens>
  static void add_products(const IntegerGroup* groups, size_t columns, const Input& x,
                           typename V::Floats (&sums)[kGroups][kTokens]) {
    for (size_t b = 0; b < columns / Type::kBlockValues; ++b) {
      const Panel<V, Type>* panels[kGroups];
      for (size_t g = 0; g < kGroups; ++g) panels[g] = &groups[g].panels[b];
      add_block<kGroups, kTokens>(panels, x.at(0, b * Type::kBlockValues), &sums[0][0]);
    }
  }

  // The same for one block of each group; sums [groups, tokens].
  template <size_t kGroups, size_t kTokens>
  [[gnu::always_inline]] static void add_block(const Panel<V, Type>* const (&panels)[kGroups], const Input& x,
                                               typename V::Floats* sums) {
    using Floats = typename V::Floats;
    constexpr size_t kParts = Type::kBlockValues / kActivationBlock;   // of a block
    constexpr size_t kScales = kActivationBlock / Type::kScaleValues;  // of a part
    constexpr size_t kQuads = Type::kScaleValues / 4;                  // that share a scale
    for (size_t p = 0; p < kParts; ++p) {
      Floats x_scale[kTokens];
      for (size_t t = 0; t < kTokens; ++t) x_scale[t] = V::broadcast(x.at(t, 0).scale[p]);
      for (size_t s = 0; s < kScales; ++s) {
        typename V::Ints dots[kGroups][kTokens];
        const typename V::Ints* quads[kGroups];
        for (size_t g = 0; g < kGroups; ++g) quads[g] = panels[g]->quads + 8 * p + kQuads * s;
        const int8_t* q = x.q + kActivationBlock * p + 4 * kQuads * s;
        if constexpr (requires { V::template multiply_matrices<kQuads>(quads, q, x.K, dots); })
          V::template multiply_matrices<kQuads>(quads, q, x.K, dots);
        else
          dot_quads<V, Type::kRange, kQuads>(quads, q, x.K, dots);
        for (size_t g = 0; g < kGroups; ++g) {
          const Floats w_scale = panels[g]->scale[kScales * p + s];
          for (size_t t = 0; t < kTokens; ++t)
            sums[g * kTokens + t] =
                V::fma(V::to_float(dots[g][t]), V::mul(w_scale, x_scale[t]), sums[g * kTokens + t]);
        }
      }
      if constexpr (Type::kHasOffset)
        for (size_t t = 0; t < kTokens; ++t) {
          const Floats x_sum = V::broadcast(x.at(t, 0).sum[p]);
          for (size_t g = 0; g < kGroups; ++g)
            sums[g * kTokens + t] = V::fma(panels[g]->offset[p], x_sum, sums[g * kTokens + t]);
        }
    }
  }
};

// ---- The product

// y[t, 0 ... rows) of kTokens tokens: what they hold unless this is the first stretch, plus the products with
// kGroups groups.
template <class V, class Group, size_t kGroups, size_t kTokens>
void apply_tile(const Group* groups, size_t columns, const typename Group::Input& x, bool first, size_t rows,
                float* y, size_t ldy) {
  const bool whole = rows >= kGroups * V::kLanes;
  const auto left = [rows](size_t g) { return rows > g * V::kLanes ? rows - g * V::kLanes : 0; };
  const auto place = [=](size_t g, size_t t) { return y + t * ldy + g * V::kLanes; };
  typename V::Floats sums[kGroups][kTokens];
  for (size_t g = 0; g < kGroups; ++g)
    for (size_t t = 0; t < kTokens; ++t)
      sums[g][t] = first   ? V::broadcast(0.0f)
                   : whole ? V::load(place(g, t))
                           : load_some<V>(place(g, t), left(g));
  Group::add_products(groups, columns, x, sums);
  for (size_t g = 0; g < kGroups; ++g)
    for (size_t t = 0; t < kTokens; ++t)
      if (whole)
        V::store(place(g, t), sums[g][t]);
      else
        store_some<V>(place(g, t), sums[g][t], left(g));
}

// The groups of a step and kTokens tokens, in tiles.
template <class V, class Group, size_t kTokens>
void apply_step(const Group* groups, size_t columns, const typename Group::Input& x, bool first, size_t rows,
                float* y, size_t ldy) {
  constexpr size_t kMost = Group::tile_groups(kTokens);
  for (size_t n = 0; n < rows;) {
    const bool whole = rows - n > (kMost - 1) * V::kLanes;
    const auto apply = whole ? &apply_tile<V, Group, kMost, kTokens> : &apply_tile<V, Group, 1, kTokens>;
    const size_t count = smaller(rows - n, (whole ? kMost : 1) * V::kLanes);
    apply(groups + n / V::kLanes, columns, x, first, count, y + n, ldy);
    n += count;
  }
}

// The groups of a step and T tokens, in tiles of kTokens tokens, then in smaller ones.
template <class V, class Group, size_t kTokens = Group::kTileTokens>
void apply_tokens(const Group* groups, size_t columns, const typename Group::Input& x, size_t T, bool first,
                  size_t rows, float* y, size_t ldy) {
  size_t t = 0;
  for (; t + kTokens <= T; t += kTokens)
    apply_step<V, Group, kTokens>(groups, columns, x.at(t, 0), first, rows, y + t * ldy, ldy);
  if constexpr (kTokens > 1)
    apply_tokens<V, Group, (kTokens > 4 ? kTokens / 2 : 1)>(groups, columns, x.at(t, 0), T - t, first, rows,
                                                            y + t * ldy, ldy);
}

template <class V, class Type, class Group>
void matmul(const uint8_t* w, size_t N, size_t K, const typename Group::Input& x, size_t T, float* y,
            size_t ldy) {
  constexpr size_t kMaxGroups = 4;
  const size_t stride = bytes_of<Type>(K), step = V::kLanes * kMaxGroups;
  Group groups[kMaxGroups];
  for (size_t n = 0; n < N; n += step) {
    const size_t rows = smaller(step, N - n);
    for (size_t k = 0; k < K; k += kStretch) {
      const size_t columns = smaller(kStretch, K - k), place = bytes_of<Type>(k) * V::kLanes;
      const size_t ahead = k + kStretch < K ? bytes_of<Type>(kStretch) * V::kLanes : step * stride - place;
      for (size_t r = 0; r < rows; r += V::kLanes)
        groups[r / V::kLanes].unpack(w + (n + r) * stride + place, columns, ahead);
      apply_tokens<V>(groups, columns, x.at(0, k), T, k == 0, rows, y + n, ldy);
    }
  }
}

// Up to kFewTokens tokens: each block is used for all of them as soon as it is unpacked, a group after the
// other, as the memory delivers them; so reading and multiplying go on at the same time.
inline constexpr size_t kFewTokens = 8;

template <class V, class Type>
void multiply_few(const uint8_t* w, size_t N, size_t K, const IntegerInput& x, size_t T, float* y,
                  size_t ldy) {
  constexpr size_t kTile = 4;
  for (size_t n = 0; n < N; n += V::kLanes) {
    typename V::Floats sums[kFewTokens];
    for (size_t t = 0; t < T; ++t) sums[t] = V::broadcast(0.0f);
    for_each_block<V, Type>(w + n * bytes_of<Type>(K), K, kAhead, [&](PackedBlock<V> block, size_t b) {
      using Group = IntegerGroup<V, Type>;
      Panel<V, Type> panel;
      Type::template unpack<V>(block, &panel);
      const Panel<V, Type>* const panels[1] = {&panel};
      const IntegerInput column = x.at(0, b * Type::kBlockValues);
      size_t t = 0;
      for (; t + kTile <= T; t += kTile)
        Group::template add_block<1, kTile>(panels, column.at(t, 0), sums + t);
      for (; t < T; ++t) Group::template add_block<1, 1>(panels, column.at(t, 0), sums + t);
    });
    for (size_t t = 0; t < T; ++t) store_some<V>(y + t * ldy + n, sums[t], N - n);
  }
}

template <class V, class Type>
void matmul_i8(const uint8_t* w, size_t N, size_t K, const QuantizedActivations* x, size_t T, float* y,
               size_t ldy) {
  const IntegerInput input = {x->q, x->scale, x->sum, K};
  if (T <= kFewTokens)
    multiply_few<V, Type>(w, N, K, input, T, y, ldy);
  else
    matmul<V, Type, IntegerGroup<V, Type>>(w, N, K, input, T, y, ldy);
}
}  // namespace
}  // namespace g4
