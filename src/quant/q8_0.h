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
  static constexpr FieldRange kHalves = {0, 2};
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
  static void unpack(PackedBlock<V> block, Panel<V, Q8_0>* panel) {
    for (size_t i = 0; i < 8; ++i) panel->quads[i] = block.quad(offsetof(Block, qs) + 4 * i);
    panel->scale[0] = block.half(offsetof(Block, d));
  }
};
}  // namespace
}  // namespace g4
