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
  static void unpack(const uint8_t* rows, size_t stride, Panel<V, Q6_K>* panel) {
    using Ints = typename V::Ints;
    for (int half = 0; half < 2; ++half) {
      for (int first = 0; first < 2; ++first) {  // of the two 16s in a part of 32
        Ints ql[2][4], qh[4];
        V::load_quads(rows + offsetof(Block, ql) + 64 * half + 16 * first, stride, ql[0]);
        V::load_quads(rows + offsetof(Block, ql) + 64 * half + 16 * first + 32, stride, ql[1]);
        V::load_quads(rows + offsetof(Block, qh) + 32 * half + 16 * first, stride, qh);
        for (int j = 0; j < 4; ++j) {
          Ints* quads = panel->quads + 32 * half + 4 * first + j;
          quads[0] = join<V>(low_nibbles<V>(ql[0][j]), V::shift_left(qh[j], 4));
          quads[8] = join<V>(low_nibbles<V>(ql[1][j]), V::shift_left(qh[j], 2));
          quads[16] = join<V>(high_nibbles<V>(ql[0][j]), qh[j]);
          quads[24] = join<V>(high_nibbles<V>(ql[1][j]), V::shift_right(qh[j], 2));
        }
      }
    }
    Ints scales[4], tail[4];
    V::load_quads(rows + offsetof(Block, scales), stride, scales);
    V::load_quads(rows + sizeof(Block) - 16, stride, tail);  // the last two bytes are d
    const typename V::Floats d = V::half_to_float(V::shift_right(tail[3], 16));
    for (int g = 0; g < 16; ++g) panel->scale[g] = V::mul(d, signed_byte<V>(scales[g / 4], g % 4));
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
