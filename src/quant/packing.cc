#include "quant/packing.h"

#include <algorithm>
#include <cstring>

namespace g4 {
namespace {
// visit(offset, bytes) for the fields of a block.
template <typename Visit>
void for_each_field(const DTypeInfo& info, Visit visit) {
  for (size_t offset = 0, bytes; offset < info.block_bytes; offset += bytes) {
    bytes = info.halves.begin <= offset && offset < info.halves.end ? 2 : 4;
    visit(offset, bytes);
  }
}

// Copies a row of `blocks` blocks from its place in one matrix to its place in another: a field of all blocks
// after the other.
void copy_row(const DTypeInfo& info, size_t blocks, const uint8_t* from, size_t from_lanes, size_t from_lane,
              uint8_t* to, size_t to_lanes, size_t to_lane) {
  const size_t from_step = info.block_bytes * from_lanes, to_step = info.block_bytes * to_lanes;
  for_each_field(info, [&](size_t offset, size_t bytes) {
    const uint8_t* source = from + offset * from_lanes + from_lane * bytes;
    uint8_t* target = to + offset * to_lanes + to_lane * bytes;
    for (size_t b = 0; b < blocks; ++b, source += from_step, target += to_step)
      bytes == 2 ? std::memcpy(target, source, 2) : std::memcpy(target, source, 4);
  });
}
}  // namespace

void pack_groups(const Matrix& w, size_t lanes, size_t first_group, size_t end_group, uint8_t* out) {
  const DTypeInfo& info = dtype_info(w.type);
  const size_t stride = w.stride_bytes(), end = std::min(end_group * lanes, w.rows);
  if (end < end_group * lanes) std::memset(out + end / lanes * lanes * stride, 0, lanes * stride);
  for (size_t r = first_group * lanes; r < end; ++r) {
    uint8_t* group = out + r / lanes * lanes * stride;
    const size_t lane = r % w.lanes;
    copy_row(info, stride / info.block_bytes, w.row(r - lane), w.lanes, lane, group, lanes, r % lanes);
  }
}

void decode_row(const Matrix& w, size_t r, float* values) {
  const DTypeInfo& info = dtype_info(w.type);
  if (w.lanes == 1) return info.decode(w.row(r), values, w.cols);
  const size_t lane = r % w.lanes;
  const uint8_t* packed = w.row(r - lane);
  uint8_t block[kMaxBlockBytes];
  for (size_t i = 0; i < w.cols; i += info.block_values, packed += info.block_bytes * w.lanes) {
    copy_row(info, 1, packed, w.lanes, lane, block, 1, 0);
    info.decode(block, values + i, info.block_values);
  }
}
}  // namespace g4
