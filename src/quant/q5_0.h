// Q5_0: 32 weights of 5 bits and a scale; w = d * (q - 16). Low bits as in Q4_0; bit i of qh is the high bit
// of weight i.
#pragma once
#include "quant/codec.h"

namespace g4 {
namespace {
struct Q5_0 {
  static constexpr DType kType = DType::kQ5_0;
  static constexpr const char* kName = "Q5_0";
  static constexpr uint32_t kGgufId = 6;
  static constexpr size_t kBlockValues = 32;
  static constexpr FieldRange kHalves = {0, 2};
  static constexpr bool kQuantised = true;
  static constexpr size_t kScaleValues = 32;
  static constexpr bool kHasOffset = true;
  static constexpr WeightRange kRange = WeightRange::kUnsigned5;
  struct Block {
    uint8_t d[2];  // binary16
    uint8_t qh[4];
    uint8_t qs[16];
  };
  static_assert(sizeof(Block) == 22);

  static void decode_block(const Block& block, float* values) {
    const float d = load_half(block.d);
    const uint32_t qh = load_u32(block.qh);
    for (int i = 0; i < 16; ++i) {
      const int low = (block.qs[i] & 15) | static_cast<int>(qh >> i & 1) << 4;
      const int high = (block.qs[i] >> 4) | static_cast<int>(qh >> (i + 16) & 1) << 4;
      values[i] = d * static_cast<float>(low - 16);
      values[i + 16] = d * static_cast<float>(high - 16);
    }
  }

  template <class V>
  static void unpack(PackedBlock<V> block, Panel<V, Q5_0>* panel) {
    const typename V::Ints qh = block.quad(offsetof(Block, qh));
    for (int i = 0; i < 4; ++i) {
      const typename V::Ints qs = block.quad(offsetof(Block, qs) + 4 * static_cast<size_t>(i));
      panel->quads[i] = V::or_int(low_nibbles<V>(qs), high_bits<V>(qh, 4 * i));
      panel->quads[i + 4] = V::or_int(high_nibbles<V>(qs), high_bits<V>(qh, 4 * i + 16));
    }
    panel->scale[0] = block.half(offsetof(Block, d));
    panel->offset[0] = V::mul(panel->scale[0], V::broadcast(-16.0f));
  }

 private:
  // Bits [first, first + 4) of each lane, one to a byte, as 0 or 16: bit i moves from first + i to 8 i + 4.
  template <class V>
  static typename V::Ints high_bits(typename V::Ints qh, int first) {
    const typename V::Ints bits = V::and_int(V::shift_right(qh, first), V::broadcast_int(15));
    const typename V::Ints two = V::or_int(bits, V::shift_left(bits, 7));
    const typename V::Ints four = V::or_int(two, V::shift_left(two, 14));
    return V::shift_left(V::and_int(four, V::broadcast_int(0x01010101)), 4);
  }
};
}  // namespace
}  // namespace g4
