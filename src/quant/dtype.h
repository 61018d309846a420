// The tensor types g4 reads: one enum value and one table row each.
#pragma once
#include <cstddef>
#include <cstdint>

namespace g4 {
enum class DType : uint8_t { kF32, kF16, kBF16, kQ8_0, kQ4_0, kQ4_1, kQ5_0, kQ4_K, kQ5_K, kQ6_K };
inline constexpr int kDTypeCount = 10;

struct FieldRange {
  size_t begin = 0, end = 0;
};

inline constexpr size_t kMaxBlockBytes = 256;
struct DTypeInfo {
  const char* name;       // as GGUF writes it: "Q4_0"
  uint32_t gguf_id;       // ggml's number of the type
  uint32_t block_values;  // weights in a block; a row is a whole number of blocks
  uint32_t block_bytes;   // bytes of a block in the file
  FieldRange halves;      // of a block: fields of 2 bytes; all others are taken as fields of 4
  // Decodes `count` values (a multiple of block_values) exactly as the format defines them. `source` may be
  // unaligned.
  void (*decode)(const uint8_t* source, float* values, size_t count);
};
const DTypeInfo& dtype_info(DType type);
// The type with this GGUF number, or nullptr.
const DType* dtype_from_gguf(uint32_t gguf_id);
// Bytes of a row of `cols` values; cols is a multiple of block_values.
inline size_t row_bytes(DType type, size_t cols) {
  const DTypeInfo& info = dtype_info(type);
  return cols / info.block_values * info.block_bytes;
}

// A matrix in memory: rows one after the other in the file's own encoding, or packed (quant/packing.h). A
// view: someone else owns the bytes. An absent tensor is an empty view.
struct Matrix {
  const uint8_t* data = nullptr;
  DType type = DType::kF32;
  size_t rows = 0;   // outputs N
  size_t cols = 0;   // inputs K
  size_t lanes = 1;  // rows that are interleaved; 1: not packed
  bool empty() const { return data == nullptr; }
  size_t stride_bytes() const { return row_bytes(type, cols); }
  // Rows that take room: packed groups are whole.
  size_t stored_rows() const { return (rows + lanes - 1) / lanes * lanes; }
  size_t size_bytes() const { return stored_rows() * stride_bytes(); }
  // Row r is a multiple of lanes.
  const uint8_t* row(size_t r) const { return data + r * stride_bytes(); }
  Matrix row_range(size_t first, size_t count) const { return {row(first), type, count, cols, lanes}; }
};
}  // namespace g4
