// Q4_K: 256 weights of 4 bits in 8 groups with a scale and a minimum each. Bytes 32 c ... 32 c + 31 of qs
// hold group 2 c in their low nibbles and group 2 c + 1 in their high ones.
#pragma once
#include "quant/k_scales.h"

namespace g4 {
namespace {
struct Q4_K {
  static constexpr DType kType = DType::kQ4_K;
  static constexpr const char* kName = "Q4_K";
  static constexpr uint32_t kGgufId = 12;
  static constexpr size_t kBlockValues = 256;
  static constexpr FieldRange kHalves = {0, 4};
  static constexpr bool kQuantised = true;
  static constexpr size_t kScaleValues = 32;
  static constexpr bool kHasOffset = true;
  static constexpr WeightRange kRange = WeightRange::kUnsigned4;
  struct Block {
    KScales scales;
    uint8_t qs[128];
  };
  static_assert(sizeof(Block) == 144);

  static void decode_block(const Block& block, float* values) {
    for (int g = 0; g < 8; ++g) {
      const float scale = block.scales.scale(g), minimum = block.scales.minimum(g);
      const uint8_t* qs = block.qs + g / 2 * 32;
      for (int i = 0; i < 32; ++i)
        values[32 * g + i] = scale * static_cast<float>(qs[i] >> 4 * (g & 1) & 15) - minimum;
    }
  }

  template <class V>
  static void unpack(PackedBlock<V> block, Panel<V, Q4_K>* panel) {
    KScales::unpack<V>(block, panel->scale, panel->offset);
    for (size_t i = 0; i < 32; ++i) {  // quad i of qs: parts of two groups
      const typename V::Ints qs = block.quad(offsetof(Block, qs) + 4 * i);
      typename V::Ints* quads = panel->quads + i / 8 * 16 + i % 8;
      quads[0] = low_nibbles<V>(qs);
      quads[8] = high_nibbles<V>(qs);
    }
  }
};
}  // namespace
}  // namespace g4
