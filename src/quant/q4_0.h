// Q4_0: 32 weights of 4 bits and a scale; w = d * (q - 8). Low nibbles are the first 16 weights, high nibbles
// the others.
#pragma once
#include "quant/codec.h"

namespace g4 {
namespace {
struct Q4_0 {
  static constexpr DType kType = DType::kQ4_0;
  static constexpr const char* kName = "Q4_0";
  static constexpr uint32_t kGgufId = 2;
  static constexpr size_t kBlockValues = 32;
  static constexpr FieldRange kHalves = {0, 2};
  static constexpr bool kQuantised = true;
  static constexpr size_t kScaleValues = 32;
  static constexpr bool kHasOffset = true;
  static constexpr WeightRange kRange = WeightRange::kUnsigned4;
  struct Block {
    uint8_t d[2];  // binary16
    uint8_t qs[16];
  };
  static_assert(sizeof(Block) == 18);

  static void decode_block(const Block& block, float* values) {
    const float d = load_half(block.d);
    for (int i = 0; i < 16; ++i) {
      values[i] = d * static_cast<float>((block.qs[i] & 15) - 8);
      values[i + 16] = d * static_cast<float>((block.qs[i] >> 4) - 8);
    }
  }

  template <class V>
  static void unpack(PackedBlock<V> block, Panel<V, Q4_0>* panel) {
    for (size_t i = 0; i < 4; ++i) {
      const typename V::Ints qs = block.quad(offsetof(Block, qs) + 4 * i);
      panel->quads[i] = low_nibbles<V>(qs);
      panel->quads[i + 4] = high_nibbles<V>(qs);
    }
    panel->scale[0] = block.half(offsetof(Block, d));
    panel->offset[0] = V::mul(panel->scale[0], V::broadcast(-8.0f));
  }
};
}  // namespace
}  // namespace g4
