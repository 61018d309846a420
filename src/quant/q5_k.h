// Q5_K: as Q4_K with a fifth bit; bit g of qh[i] is the high bit of weight i of group g.
#pragma once
#include "quant/k_scales.h"

namespace g4 {
namespace {
struct Q5_K {
  static constexpr DType kType = DType::kQ5_K;
  static constexpr const char* kName = "Q5_K";
  static constexpr uint32_t kGgufId = 13;
  static constexpr size_t kBlockValues = 256;
  static constexpr FieldRange kHalves = {0, 4};
  static constexpr bool kQuantised = true;
  static constexpr size_t kScaleValues = 32;
  static constexpr bool kHasOffset = true;
  static constexpr WeightRange kRange = WeightRange::kUnsigned5;
  struct Block {
    KScales scales;
    uint8_t qh[32];
    uint8_t qs[128];
  };
  static_assert(sizeof(Block) == 176);

  static void decode_block(const Block& block, float* values) {
    for (int g = 0; g < 8; ++g) {
      const float scale = block.scales.scale(g), minimum = block.scales.minimum(g);
      const uint8_t* qs = block.qs + g / 2 * 32;
      for (int i = 0; i < 32; ++i) {
        const int q = (qs[i] >> 4 * (g & 1) & 15) | (block.qh[i] >> g & 1) << 4;
        values[32 * g + i] = scale * static_cast<float>(q) - minimum;
      }
    }
  }

  template <class V>
  static void unpack(PackedBlock<V> block, Panel<V, Q5_K>* panel) {
    KScales::unpack<V>(block, panel->scale, panel->offset);
    for (size_t i = 0; i < 32; ++i) {  // quad i of qs: parts of groups g and g + 1
      const typename V::Ints qs = block.quad(offsetof(Block, qs) + 4 * i);
      const typename V::Ints high = block.quad(offsetof(Block, qh) + i % 8 * 4);
      const int g = static_cast<int>(i / 8 * 2);
      typename V::Ints* quads = panel->quads + i / 8 * 16 + i % 8;
      quads[0] = V::or_int(low_nibbles<V>(qs), high_bit<V>(high, g));
      quads[8] = V::or_int(high_nibbles<V>(qs), high_bit<V>(high, g + 1));
    }
  }

 private:
  // Bit `bit` of each byte, as 0 or 16.
  template <class V>
  static typename V::Ints high_bit(typename V::Ints qh, int bit) {
    return V::shift_left(V::and_int(V::shift_right(qh, bit), V::broadcast_int(0x01010101)), 4);
  }
};
}  // namespace
}  // namespace g4
