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
  static void unpack(const uint8_t* rows, size_t stride, Panel<V, Q5_K>* panel) {
    KScales::unpack<V>(rows, stride, panel->scale, panel->offset);
    typename V::Ints qh[8];
    V::load_quads(rows + offsetof(Block, qh), stride, qh);
    V::load_quads(rows + offsetof(Block, qh) + 16, stride, qh + 4);
    for (int i = 0; i < 8; ++i) {  // 16 bytes of qs at a time: parts of groups g and g + 1
      typename V::Ints qs[4];
      V::load_quads(rows + offsetof(Block, qs) + 16 * i, stride, qs);
      const int g = i / 2 * 2;
      typename V::Ints* quads = panel->quads + 8 * g + i % 2 * 4;
      for (int j = 0; j < 4; ++j) {
        const typename V::Ints high = qh[i % 2 * 4 + j];
        quads[j] = V::or_int(low_nibbles<V>(qs[j]), high_bit<V>(high, g));
        quads[j + 8] = V::or_int(high_nibbles<V>(qs[j]), high_bit<V>(high, g + 1));
      }
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
