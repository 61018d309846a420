// Q8_0: 32 weights of 8 bits and a scale; w = d * q.
#pragma once
#include "quant/codec.h"

namespace g4 {
namespace {
struct Q8_0 {
  static constexpr DType kType = DType::kQ8_0;
  static constexpr const char* kName = "Q8_0";
  static constexpr uint32_t kGgufId = 8;
  static constexpr size_t kBlockValues = 32;
  static constexpr bool kQuantised = true;
  static constexpr size_t kScaleValues = 32;
  static constexpr bool kHasOffset = false;
  static constexpr WeightRange kRange = WeightRange::kSigned8;
  struct Block {
    uint8_t d[2];  // binary16
    int8_t qs[32];
  };
  static_assert(sizeof(Block) == 34);

  static void decode_block(const Block& block, float* values) {
    const float d = load_half(block.d);
    for (int i = 0; i < 32; ++i) values[i] = d * static_cast<float>(block.qs[i]);
  }

  template <class V>
  static void unpack(const uint8_t* rows, size_t stride, Panel<V, Q8_0>* panel) {
    typename V::Ints head[4];
    V::load_quads(rows, stride, head);
    V::load_quads(rows + offsetof(Block, qs), stride, panel->quads);
    V::load_quads(rows + offsetof(Block, qs) + 16, stride, panel->quads + 4);
    panel->scale[0] = V::half_to_float(head[0]);
  }
};
}  // namespace
}  // namespace g4
