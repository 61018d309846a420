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
      for (size_t offset = 0; offset < block_bytes;) {
        const bool half = info.halves.begin <= offset && offset < info.halves.end;
        const auto interleave_field = half ? &interleave<2> : &interleave<4>;
        interleave_field(rows + block + offset, stride, count, out + offset * lanes);
        offset += half ? 2 : 4;
      }
      out += block_bytes * lanes;
    }
  }
}
}  // namespace g4
