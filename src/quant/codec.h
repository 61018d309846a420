// What every type's header gives: its layout in the file, its exact decoding, and its integer form for the
// kernels.
//
//   struct Q4_0 {
//     kType, kName, kGgufId     as in DTypeInfo
//     kBlockValues              weights in a block
//     Block                     the bytes of a block, alignment 1
//     kHalves                   as in DTypeInfo
//     decode_block(block, out)  its values, exactly as the format defines them
//     kQuantised                whether there is an integer form, w = scale * q + offset:
//     kScaleValues              weights that share a scale: 16 or 32
//     kHasOffset                whether there is an offset, one for 32 weights
//     kRange                    of q
//     unpack<V>(block, panel)   the integer form of a block of V::kLanes rows
//     value<V>(block)           without an integer form: the value of each of V::kLanes rows
//   };
//
// All of it lies in anonymous namespaces: each instruction set compiles its own copy with its own flags, and
// a shared inline function would let the linker pick the copy of a better CPU for everyone.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "quant/dtype.h"

namespace g4 {
namespace {
enum class WeightRange {
  kUnsigned4,  // 0 ... 15
  kUnsigned5,  // 0 ... 31
  kSigned6,    // -32 ... 31
  kSigned8,    // -128 ... 127
};

// One block of each of V::kLanes rows as packed weights hold it (quant/packing.h). V is the vocabulary of an
// instruction set (kernels/isa_generic.cc explains the words). `offset` is where the field lies in a block.
template <class V>
struct PackedBlock {
  const uint8_t* bytes;

  typename V::Ints quad(size_t offset) const { return V::load_ints(bytes + offset * V::kLanes); }
  typename V::Floats half(size_t offset) const {
    return V::load_half(reinterpret_cast<const uint16_t*>(bytes + offset * V::kLanes));
  }
};

// The same, a row a lane, in the form the integer kernels want.
template <class V, class Type>
struct Panel {
  typename V::Ints quads[Type::kBlockValues / 4];  // 4 consecutive weights q, a byte each, in each lane
  typename V::Floats scale[Type::kBlockValues / Type::kScaleValues];
  typename V::Floats offset[Type::kBlockValues / 32];  // unset without kHasOffset
};

template <class Type>
void decode_blocks(const uint8_t* source, float* values, size_t count) {
  for (size_t i = 0; i < count; i += Type::kBlockValues, source += sizeof(typename Type::Block)) {
    typename Type::Block block;
    memcpy(&block, source, sizeof block);
    Type::decode_block(block, values + i);
  }
}

// Little-endian, as the files and the machine are.
inline uint16_t load_u16(const uint8_t* bytes) {
  uint16_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}
inline uint32_t load_u32(const uint8_t* bytes) {
  uint32_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}
inline float float_from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// IEEE binary16 to binary32, exact, also where the host made the processor flush subnormal binary32 numbers
// to zero.
inline float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16, rest = half & 0x7fffu;
  if (rest >= 0x7c00u) return float_from_bits(sign | 0x7f800000u | (rest & 0x3ffu) << 13);  // infinity, NaN
  if (rest >= 0x0400u) return float_from_bits(sign | ((rest << 13) + (112u << 23)));
  const float magnitude = float_from_bits((113u << 23) | rest << 13) - 0x1p-14f;
  return sign != 0 ? -magnitude : magnitude;
}
inline float load_half(const uint8_t* bytes) { return half_to_float(load_u16(bytes)); }

// Words every unpack needs: a byte of each lane as an unsigned and as a signed number, and a nibble of each
// byte.
template <class V>
typename V::Floats unsigned_byte(typename V::Ints quads, int index) {
  return V::to_float(V::and_int(V::shift_right(quads, 8 * index), V::broadcast_int(0xff)));
}
template <class V>
typename V::Floats signed_byte(typename V::Ints quads, int index) {
  const typename V::Ints byte = V::and_int(V::shift_right(quads, 8 * index), V::broadcast_int(0xff));
  return V::to_float(V::sub_int(byte, V::shift_left(V::and_int(byte, V::broadcast_int(0x80)), 1)));
}
template <class V>
typename V::Ints low_nibbles(typename V::Ints quads) {
  return V::and_int(quads, V::broadcast_int(0x0f0f0f0f));
}
template <class V>
typename V::Ints high_nibbles(typename V::Ints quads) {
  return low_nibbles<V>(V::shift_right(quads, 4));
}
}  // namespace
}  // namespace g4
