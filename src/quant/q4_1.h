// Q4_1: 32 weights of 4 bits, a scale and a minimum; w = d * q + m. Nibbles as in Q4_0.
#pragma once
#include "quant/codec.h"

namespace g4 {
namespace {
struct Q4_1 {
  static constexpr DType kType = DType::kQ4_1;
  static constexpr const char* kName = "Q4_1";
  static constexpr uint32_t kGgufId = 3;
  static constexpr size_t kBlockValues = 32;
  static constexpr FieldRange kHalves = {0, 4};
  static constexpr bool kQuantised = true;
  static constexpr size_t kScaleValues = 32;
  static constexpr bool kHasOffset = true;
  static constexpr WeightRange kRange = WeightRange::kUnsigned4;
  struct Block {
    uint8_t d[2], m[2];  // binary16
    uint8_t qs[16];
  };
  static_assert(sizeof(Block) == 20);

  static void decode_block(const Block& block, float* values) {
    const float d = load_half(block.d), m = load_half(block.m);
    for (int i = 0; i < 16; ++i) {
      values[i] = d * static_cast<float>(block.qs[i] & 15) + m;
      values[i + 16] = d * static_cast<float>(block.qs[i] >> 4) + m;
    }
  }

  template <class V>
  static void unpack(PackedBlock<V> block, Panel<V, Q4_1>* panel) {
    for (size_t i = 0; i < 4; ++i) {
      const typename V::Ints qs = block.quad(offsetof(Block, qs) + 4 * i);
      panel->quads[i] = low_nibbles<V>(qs);
      panel->quads[i + 4] = high_nibbles<V>(qs);
    }
    panel->scale[0] = block.half(offsetof(Block, d));
    panel->offset[0] = block.half(offsetof(Block, m));
  }
};
}  // namespace
}  // namespace g4
