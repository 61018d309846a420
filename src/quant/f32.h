// F32: IEEE binary32, little-endian.
#pragma once
#include "quant/codec.h"

namespace g4 {
namespace {
struct F32 {
  static constexpr DType kType = DType::kF32;
  static constexpr const char* kName = "F32";
  static constexpr uint32_t kGgufId = 0;
  static constexpr size_t kBlockValues = 1;
  static constexpr FieldRange kHalves = {};
  static constexpr bool kQuantised = false;
  struct Block {
    uint8_t value[4];
  };
  static_assert(sizeof(Block) == 4);

  static void decode_block(const Block& block, float* values) {
    values[0] = float_from_bits(load_u32(block.value));
  }

  template <class V>
  static typename V::Floats value(PackedBlock<V> block) {
    return V::from_bits(block.quad(0));
  }
};
}  // namespace
}  // namespace g4
