// Q6_K: 256 weights of 6 bits in 16 groups of 16 with a scale of 8 bits each; w = d * scale[g] * (q - 32).
// Each half of 128 weights takes 64 bytes of ql and 32 of qh. Weight i of part p (p = 0 ... 3, of 32 weights)
// of a half has its low bits in the low (p < 2) or high nibble of ql[32 (p % 2) + i], and its high bits in
// bits 2 p and 2 p + 1 of qh[i].
#pragma once
#include "quant/codec.h"

namespace g4 {
namespace {
struct Q6_K {
  static constexpr DType kType = DType::kQ6_K;
  static constexpr const char* kName = "Q6_K";
  static constexpr uint32_t kGgufId = 14;
  static constexpr size_t kBlockValues = 256;
  static constexpr FieldRange kHalves = {208, 210};
  static constexpr bool kQuantised = true;
  static constexpr size_t kScaleValues = 16;
  static constexpr bool kHasOffset = false;
  static constexpr WeightRange kRange = WeightRange::kSigned6;
  struct Block {
    uint8_t ql[128];
    uint8_t qh[64];
    int8_t scales[16];
    uint8_t d[2];  // binary16
  };
  static_assert(sizeof(Block) == 210);

  static void decode_block(const Block& block, float* values) {
    const float d = load_half(block.d);
    for (int g = 0; g < 16; ++g) {
      const int half = g / 8, part = g / 2 % 4, first = g % 2 * 16;
      const float scale = d * static_cast<float>(block.scales[g]);
      const uint8_t* ql = block.ql + 64 * half + part % 2 * 32 + first;
      const uint8_t* qh = block.qh + 32 * half + first;
      for (int i = 0; i < 16; ++i) {
        const int q = (ql[i] >> part / 2 * 4 & 15) | (qh[i] >> 2 * part & 3) << 4;
        values[16 * g + i] = scale * static_cast<float>(q - 32);
      }
    }
  }

  template <class V>
  static void unpack(PackedBlock<V> block, Panel<V, Q6_K>* panel) {
    using Ints = typename V::Ints;
    for (size_t i = 0; i < 16; ++i) {  // quad i % 8 of half i / 8
      const size_t half = i / 8, first = i % 8 * 4;
      const Ints low[2] = {block.quad(offsetof(Block, ql) + 64 * half + first),
                           block.quad(offsetof(Block, ql) + 64 * half + 32 + first)};
      const Ints high = block.quad(offsetof(Block, qh) + 32 * half + first);
      Ints* quads = panel->quads + 32 * half + i % 8;
      quads[0] = join<V>(low_nibbles<V>(low[0]), V::shift_left(high, 4));
      quads[8] = join<V>(low_nibbles<V>(low[1]), V::shift_left(high, 2));
      quads[16] = join<V>(high_nibbles<V>(low[0]), high);
      quads[24] = join<V>(high_nibbles<V>(low[1]), V::shift_right(high, 2));
    }
    const typename V::Floats d = block.half(offsetof(Block, d));
    for (int g = 0; g < 16; ++g) {
      const Ints scales = block.quad(offsetof(Block, scales) + static_cast<size_t>(g / 4 * 4));
      panel->scale[g] = V::mul(d, signed_byte<V>(scales, g % 4));
    }
  }

 private:
  // 4 low bits and, in bits 4 and 5 of each byte of `high`, the upper two; less 32.
  template <class V>
  static typename V::Ints join(typename V::Ints low, typename V::Ints high) {
    return V::sub_bytes(V::or_int(low, V::and_int(high, V::broadcast_int(0x30303030))),
                        V::broadcast_int(0x20202020));
  }
};
}  // namespace
}  // namespace g4
