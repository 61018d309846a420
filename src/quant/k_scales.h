// The 16 bytes that Q4_K and Q5_K blocks begin with: scales and minima of 6 bits for 8 groups of 32 weights.
//   w = d * scale[g] * q - dmin * minimum[g]
#pragma once
#include "quant/codec.h"

namespace g4 {
namespace {
struct KScales {
  uint8_t d[2], dmin[2];  // binary16
  // Groups 0-3: the low 6 bits of bytes 0-3 (scales) and 4-7 (minima). Groups 4-7: nibbles of bytes 8-11
  // (scales low, minima high), their upper two bits on top of bytes 0-3 and 4-7.
  uint8_t packed[12];

  float scale(int group) const {
    const int low = packed[group & 3], four = packed[8 + (group & 3)];
    const int bits = group < 4 ? low & 63 : (four & 15) | (low >> 6) << 4;
    return load_half(d) * static_cast<float>(bits);
  }
  float minimum(int group) const {
    const int low = packed[4 + (group & 3)], four = packed[8 + (group & 3)];
    const int bits = group < 4 ? low & 63 : four >> 4 | (low >> 6) << 4;
    return load_half(dmin) * static_cast<float>(bits);
  }

  // The same of V::kLanes rows: scales of the 8 groups, and their offsets, the minima negated.
  template <class V>
  static void unpack(PackedBlock<V> block, typename V::Floats* scale, typename V::Floats* offset) {
    using Ints = typename V::Ints;
    const typename V::Floats d = block.half(0), dmin = V::mul(block.half(2), V::broadcast(-1.0f));
    const Ints low_scales = block.quad(4), low_minima = block.quad(8), four = block.quad(12);
    const Ints six = V::broadcast_int(0x3f3f3f3f);
    const Ints scales[2] = {V::and_int(low_scales, six),
                            V::or_int(low_nibbles<V>(four), top_pairs<V>(low_scales))};
    const Ints minima[2] = {V::and_int(low_minima, six),
                            V::or_int(high_nibbles<V>(four), top_pairs<V>(low_minima))};
    for (int g = 0; g < 8; ++g) {
      scale[g] = V::mul(d, unsigned_byte<V>(scales[g / 4], g % 4));
      offset[g] = V::mul(dmin, unsigned_byte<V>(minima[g / 4], g % 4));
    }
  }

 private:
  // The top two bits of each byte, moved to bits 4 and 5.
  template <class V>
  static typename V::Ints top_pairs(typename V::Ints quads) {
    return V::and_int(V::shift_right(quads, 2), V::broadcast_int(0x30303030));
  }
};
static_assert(sizeof(KScales) == 16);
}  // namespace
}  // namespace g4
