#include "quant/packing.h"

#include <catch2/catch.hpp>

#include "tests/kernels/kernel_test.h"

namespace g4 {
namespace {
// Where byte `byte` of row `row` lies, said once more in other words than the code's.
size_t packed_place(const Matrix& w, size_t lanes, size_t row, size_t byte) {
  const DTypeInfo& info = dtype_info(w.type);
  const size_t block = byte / info.block_bytes, offset = byte % info.block_bytes;
  const bool half = offset >= info.halves.begin && offset < info.halves.end;
  const size_t width = half ? 2 : 4,
               start = info.halves.begin % 4 == 0 && info.halves.begin == 0 ? info.halves.end : 0;
  const size_t field = half ? offset / 2 * 2 : start + (offset - start) / 4 * 4;
  return row / lanes * lanes * w.stride_bytes() + block * info.block_bytes * lanes + field * lanes +
         row % lanes * width + (offset - field);
}
}  // namespace

TEST_CASE("Packing moves every byte to its place and fills up with zeros, in any steps", "[quant]") {
  for (const DType type : all_types()) {
    const size_t cols = dtype_info(type).block_values == 1 ? 37 : 512;
    for (const size_t lanes : {4, 8, 16}) {
      for (const size_t rows : {1, 7, 8, 16, 37}) {
        const Weights weights(type, rows, cols, 3, 1);
        const Matrix w{weights.data(), type, rows, cols};
        const Matrix packed{nullptr, type, rows, cols, lanes};
        const size_t groups = packed.stored_rows() / lanes;
        std::vector<uint8_t> expected(packed.size_bytes(), 0), whole(expected.size(), 0xee), steps(whole);
        for (size_t row = 0; row < rows; ++row)
          for (size_t byte = 0; byte < w.stride_bytes(); ++byte)
            expected[packed_place(w, lanes, row, byte)] = w.row(row)[byte];
        pack_groups(w, lanes, 0, groups, whole.data());
        for (size_t group = 0; group < groups; ++group) pack_groups(w, lanes, group, group + 1, steps.data());
        CAPTURE(dtype_info(type).name, lanes, rows);
        CHECK(whole == expected);
        CHECK(steps == expected);
        const Matrix in_place{whole.data(), type, rows, cols, lanes};
        for (size_t row = 0; row < rows; ++row) {
          std::vector<float> values(cols);
          decode_row(in_place, row, values.data());
          CHECK(same_bits(values, weights.row(row)));
        }
      }
    }
  }
}
}  // namespace g4
