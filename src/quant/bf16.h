// BF16: the upper half of a binary32.
#pragma once
#include "quant/codec.h"

namespace g4 {
namespace {
struct BF16 {
  static constexpr DType kType = DType::kBF16;
  static constexpr const char* kName = "BF16";
  static constexpr uint32_t kGgufId = 30;
  static constexpr size_t kBlockValues = 1;
  static constexpr FieldRange kHalves = {0, 2};
  static constexpr bool kQuantised = false;
  struct Block {
    uint8_t value[2];
  };
  static_assert(sizeof(Block) == 2);

  static void decode_block(const Block& block, float* values) {
    values[0] = float_from_bits(static_cast<uint32_t>(load_u16(block.value)) << 16);
  }

  template <class V>
  static typename V::Floats value(PackedBlock<V> block) {
    return V::from_bits(V::shift_left(V::widen(reinterpret_cast<const uint16_t*>(block.bytes)), 16));
  }
};
}  // namespace
}  // namespace g4
