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
  static constexpr bool kQuantised = true;
  static constexpr size_t kScaleValues = 32;
  static constexpr bool kHasOffset = true;
  static constexpr WeightRange kRange = WeightRange::kUnsigned5;
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
  static void unpack(const uint8_t* rows, size_t stride, Panel<V, Q4_0>* panel) {
    typename V::Ints head[4], qs[4];
    V::load_quads(rows, stride, head);
    V::load_quads(rows + offsetof(Block, qs), stride, qs);
    for (int i = 0; i < 4; ++i) {
      panel->quads[i] = low_nibbles<V>(qs[i]);
      panel->quads[i + 4] = high_nibbles<V>(qs[i]);
    }
    panel->scale[0] = V::half_to_float(head[0]);
    panel->offset[0] = V::mul(panel->scale[0], V::broadcast(-8.0f));
  }
};
}  // namespace
}  // namespace g4
