// F16: IEEE binary16.
#pragma once
#include "quant/codec.h"

namespace g4 {
namespace {
struct F16 {
  static constexpr DType kType = DType::kF16;
  static constexpr const char* kName = "F16";
  static constexpr uint32_t kGgufId = 1;
  static constexpr size_t kBlockValues = 1;
  static constexpr FieldRange kHalves = {0, 2};
  static constexpr bool kQuantised = false;
  struct Block {
    uint8_t value[2];
  };
  static_assert(sizeof(Block) == 2);

  static void decode_block(const Block& block, float* values) { values[0] = load_half(block.value); }

  template <class V>
  static typename V::Floats value(PackedBlock<V> block) {
    return block.half(0);
  }
};
}  // namespace
}  // namespace g4
