#include "quant/packing.h"

#include <algorithm>
#include <cstring>

namespace g4 {
namespace {
// The field of kBytes bytes at `rows` of `count` rows, `stride` bytes apart.
template <size_t kBytes>
void interleave(const uint8_t* rows, size_t stride, size_t count, uint8_t* out) {
  for (size_t r = 0; r < count; ++r) std::memcpy(out + r * kBytes, rows + r * stride, kBytes);
}

// visit(offset, bytes) for the fields of a block.
template <typename Visit>
void for_each_field(const DTypeInfo& info, Visit visit) {
  for (size_t offset = 0, bytes; offset < info.block_bytes; offset += bytes) {
    bytes = info.halves.begin <= offset && offset < info.halves.end ? 2 : 4;
    visit(offset, bytes);
  }
}
}  // namespace

void pack_groups(const Matrix& w, size_t lanes, size_t first_group, size_t end_group, uint8_t* out) {
  const DTypeInfo& info = dtype_info(w.type);
  const size_t stride = w.stride_bytes(), block_bytes = info.block_bytes;
  out += first_group * lanes * stride;
  for (size_t group = first_group; group < end_group; ++group) {
    const uint8_t* rows = w.data + group * lanes * stride;
    const size_t count = std::min(lanes, w.rows - group * lanes);
    if (count < lanes) std::memset(out, 0, lanes * stride);
    for (size_t block = 0; block < stride; block += block_bytes) {
      for_each_field(info, [&](size_t offset, size_t bytes) {
        const auto interleave_field = bytes == 2 ? &interleave<2> : &interleave<4>;
        interleave_field(rows + block + offset, stride, count, out + offset * lanes);
      });
      out += block_bytes * lanes;
    }
  }
}

void decode_row(const Matrix& w, size_t r, float* values) {
  const DTypeInfo& info = dtype_info(w.type);
  if (w.lanes == 1) return info.decode(w.row(r), values, w.cols);
  const size_t lane = r % w.lanes;
  const uint8_t* packed = w.row(r - lane);
  uint8_t block[kMaxBlockBytes];
  for (size_t i = 0; i < w.cols; i += info.block_values, packed += info.block_bytes * w.lanes) {
    for_each_field(info, [&](size_t offset, size_t bytes) {
      std::memcpy(block + offset, packed + offset * w.lanes + lane * bytes, bytes);
    });
    info.decode(block, values + i, info.block_values);
  }
}
}  // namespace g4
