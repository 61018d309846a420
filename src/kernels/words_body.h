// Words: values rounded to 13 bits, 128 of which share a scale, and the matrix product of words: a vector
// multiplies twice as many of them as of floats.
#pragma once
#include "kernels/matmul_body.h"
#include "kernels/row_body.h"

namespace g4 {
namespace {
// V::kLanes consecutive values of a row in the encoding of a file, from value k on.
template <class V, class Type>
typename V::Floats values_at(const uint8_t* row, size_t k) {
  const uint8_t* block = row + bytes_of<Type>(k);
  if constexpr (!Type::kQuantised)
    return Type::template value<V>(PackedBlock<V>{block});
  else  // Q8_0: the scale, then a byte each
    return V::mul(V::broadcast(load_half(block)), V::load_bytes(block + 2 + k % Type::kBlockValues));
}

template <class V, class Type>
void to_words(const uint8_t* row, size_t K, uint8_t* out, size_t step) {
  for (size_t begin = 0; begin < K; begin += kWordBlock, out += sizeof(WordBlock) * step) {
    const size_t count = smaller(kWordBlock, K - begin);
    float values[kWordBlock];
    size_t k = 0;
    for (; k + V::kLanes <= count; k += V::kLanes) V::store(values + k, values_at<V, Type>(row, begin + k));
    if constexpr (!Type::kQuantised)
      decode_blocks<Type>(row + bytes_of<Type>(begin + k), values + k, count - k);
    for (k = count; k < kWordBlock; ++k) values[k] = 0.0f;
    WordBlock block;
    quantize_block<V, kWordBlock, kMaxWord>(values, block.q, &block.scale);
    const uint8_t* fields = reinterpret_cast<const uint8_t*>(&block);
    if (step == 1)
      memcpy(out, fields, sizeof block);
    else
      for (size_t i = 0; i < sizeof block; i += 4) memcpy(out + i * step, fields + i, 4);
  }
}

struct WordInput {
  const WordBlock* x;
  size_t blocks;  // of a token
  WordInput at(size_t t, size_t block) const { return {x + t * blocks + block, blocks}; }
};

// A stretch of one group of rows, packed: a scale of each, then pairs of words of each, block by block.
template <class V>
struct WordGroup {
  using Input = WordInput;
  using Ints = typename V::Ints;
  using Floats = typename V::Floats;
  // A tile has more groups than tokens: a pair of a token is a broadcast, which on AVX2 takes a turn of the
  // units that multiply, a pair of a group is a load, which does not.
  static constexpr size_t kTileTokens = 2;
  static constexpr size_t tile_groups(size_t) { return 4; }
  const uint8_t* blocks;
  PackedBlock<V> block(size_t b) const { return {blocks + b * sizeof(WordBlock) * V::kLanes}; }

  template <size_t kGroups, size_t kTokens>
  static void add_products(const WordGroup* groups, size_t columns, const Input& x,
                           Floats (&sums)[kGroups][kTokens]) {
    for (size_t b = 0; b < columns / kWordBlock; ++b) {
      for (size_t t = 0; t < kTokens; ++t)  // of the next tile, which come from far away if there are many
        for (size_t i = 0; i < sizeof(WordBlock); i += 64)
          V::prefetch(reinterpret_cast<const uint8_t*>(x.at(kTokens + t, b).x) + i);
      Ints dots[kGroups][kTokens];
      for (size_t g = 0; g < kGroups; ++g)
        for (size_t t = 0; t < kTokens; ++t) dots[g][t] = V::broadcast_int(0);
      for (size_t i = 0; i < kWordBlock; i += 2) {
        Ints pairs[kGroups];
        for (size_t g = 0; g < kGroups; ++g)
          pairs[g] = groups[g].block(b).quad(offsetof(WordBlock, q) + 2 * i);
        for (size_t t = 0; t < kTokens; ++t) {
          const Ints pair = V::broadcast_int(load_u32(reinterpret_cast<const uint8_t*>(x.at(t, b).x->q + i)));
          for (size_t g = 0; g < kGroups; ++g) dots[g][t] = V::add_pairs(dots[g][t], pairs[g], pair);
        }
      }
      for (size_t t = 0; t < kTokens; ++t) {
        const Floats x_scale = V::broadcast(x.at(t, b).x->scale);
        for (size_t g = 0; g < kGroups; ++g) {
          const Floats w_scale = V::from_bits(groups[g].block(b).quad(offsetof(WordBlock, scale)));
          sums[g][t] = V::fma(V::to_float(dots[g][t]), V::mul(w_scale, x_scale), sums[g][t]);
        }
      }
    }
  }
};

template <class V>
void matmul_words(const uint8_t* w, size_t N, size_t K, const WordBlock* x, size_t T, float* y, size_t ldy) {
  constexpr size_t kMaxGroups = 4, kStep = kMaxGroups * V::kLanes, kBlocks = 4;  // at a time
  const size_t blocks = word_blocks(K), stride = blocks * sizeof(WordBlock);
  for (size_t n = 0; n < N; n += kStep) {
    const size_t rows = smaller(kStep, N - n);
    for (size_t b = 0; b < blocks; b += kBlocks) {
      WordGroup<V> groups[kMaxGroups];
      for (size_t r = 0; r < rows; r += V::kLanes)
        groups[r / V::kLanes].blocks = w + (n + r) * stride + b * sizeof(WordBlock) * V::kLanes;
      apply_tokens<V>(groups, smaller(kBlocks, blocks - b) * kWordBlock, WordInput{x + b, blocks}, T, b == 0,
                      rows, y + n, ldy);
    }
  }
}
}  // namespace
}  // namespace g4
