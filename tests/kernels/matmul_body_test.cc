#include <catch2/catch.hpp>

#include "tests/kernels/kernel_test.h"

namespace g4 {
namespace {
// Columns to try: around every length at which the code changes its way.
std::vector<size_t> column_counts(DType type) {
  switch (dtype_info(type).block_values) {
    case 1:
      return {1, 3, 7, 8, 9, 48, 96, 511, 513, 1030};
    case 32:
      return {32, 96, 224, 256, 288, 544, 1056};
    default:
      return {256, 512, 768};
  }
}

struct Size {
  size_t N, T;
};
const Size kSizes[] = {{1, 1}, {3, 2}, {5, 3}, {8, 4}, {13, 5}, {33, 9}, {71, 2}, {37, 31}};

// Checks y [T, ldy] against sums in double precision, relative to the sum of magnitudes, and that it was not
// written elsewhere.
void check_product(const Weights& w, const std::vector<float>& x, size_t T, const std::vector<float>& y,
                   size_t ldy, double tolerance) {
  for (size_t n = 0; n < w.rows; ++n) {
    const std::vector<float> row = w.row(n);
    for (size_t t = 0; t < T; ++t) {
      double sum = 0, magnitude = 0;
      for (size_t k = 0; k < w.cols; ++k) {
        const double product = static_cast<double>(row[k]) * static_cast<double>(x[t * w.cols + k]);
        sum += product;
        magnitude += std::abs(product);
      }
      CAPTURE(n, t);
      REQUIRE(std::abs(static_cast<double>(y[t * ldy + n]) - sum) <= tolerance * magnitude);
    }
  }
  for (size_t t = 0; t < T; ++t)
    for (size_t n = w.rows; n < ldy; ++n) REQUIRE(y[t * ldy + n] == 77.0f);
}

TEST_CASE("matmul_f32 agrees with double precision: every row, type, odd size and misalignment",
          "[kernels]") {
  for (const Kernels* row : runnable_rows()) {
    for (const DType type : all_types()) {
      uint32_t seed = 1;
      for (const size_t K : column_counts(type)) {
        const Size size = kSizes[seed++ % std::size(kSizes)];
        CAPTURE(label(*row, type), size.N, K, size.T);
        const Weights w(type, size.N, K, seed, seed % 5);
        Random random(seed);
        const std::vector<float> x = random.normals(size.T * K);
        const size_t ldy = size.N + seed % 3;
        std::vector<float> y(size.T * ldy, 77.0f);
        row->matmul_f32[static_cast<size_t>(type)](w.packed(*row).data(), size.N, K, x.data(), K, size.T,
                                                   y.data(), ldy);
        check_product(w, x, size.T, y, ldy, 1e-6);
      }
    }
  }
}

TEST_CASE("matmul_i8 agrees with double precision: every row, type, odd size and misalignment", "[kernels]") {
  for (const Kernels* row : runnable_rows()) {
    for (const DType type : all_types()) {
      const auto matmul = row->matmul_i8[static_cast<size_t>(type)];
      if (matmul == nullptr) continue;
      uint32_t seed = 1;
      for (const size_t K : column_counts(type)) {
        const Size size = kSizes[seed++ % std::size(kSizes)];
        CAPTURE(label(*row, type), size.N, K, size.T);
        const Weights w(type, size.N, K, seed, seed % 5);
        Random random(seed);
        const Quantised x(*row, random.normals(size.T * K), size.T, K);
        const size_t ldy = size.N + seed % 3;
        std::vector<float> y(size.T * ldy, 77.0f), dequantised(size.T * K);
        const QuantizedActivations view = x.view();
        matmul(w.packed(*row).data(), size.N, K, &view, size.T, y.data(), ldy);
        for (size_t i = 0; i < dequantised.size(); ++i)
          dequantised[i] = x.scale[i / kActivationBlock] * static_cast<float>(x.q[i]);
        check_product(w, dequantised, size.T, y, ldy, 2e-6);
      }
    }
  }
}

// The sums of a block are exact in int32 whatever the operands: 16-bit instructions that saturate must not
// show. With scales of 1 and one block of activations at a time every result is an integer below 2^24, so it
// must be exact.
TEST_CASE("matmul_i8 does not saturate", "[kernels]") {
  for (const Kernels* row : runnable_rows()) {
    for (const DType type : all_types()) {
      const auto matmul = row->matmul_i8[static_cast<size_t>(type)];
      if (matmul == nullptr) continue;
      const size_t K = 256, blocks = K / kActivationBlock;
      for (const uint8_t fill : {0x00, 0xff, 0x80, 0x7f, 0x0f, 0xf0}) {
        Weights w(type, 3, K, 1);
        std::fill(w.bytes.begin(), w.bytes.end(), fill);
        for (size_t at = 0; at < w.bytes.size(); at += dtype_info(type).block_bytes)
          for (const size_t field : half_fields(type)) set_half(&w.bytes[at + field], 0x3c00);
        const std::vector<float> values = w.row(0);
        const std::vector<uint8_t> packed = w.packed(*row);
        for (size_t block = 0; block < blocks; ++block) {
          for (int pattern = 0; pattern < 4; ++pattern) {
            std::vector<int8_t> q(K, 0);
            std::vector<float> scale(blocks, 1.0f), sum(blocks, 0.0f);
            double expected = 0;
            for (size_t k = block * kActivationBlock; k < (block + 1) * kActivationBlock; ++k) {
              const bool negative =
                  pattern == 1 || (pattern == 2 && k % 2 == 0) || (pattern == 3 && values[k] < 0);
              q[k] = negative ? -127 : 127;
              sum[block] += static_cast<float>(q[k]);
              expected += static_cast<double>(values[k]) * q[k];
            }
            const QuantizedActivations x{q.data(), scale.data(), sum.data()};
            float y[3];
            matmul(packed.data(), 3, K, &x, 1, y, 3);
            CAPTURE(label(*row, type), static_cast<int>(fill), block, pattern);
            REQUIRE(static_cast<double>(y[0]) == expected);
            REQUIRE(y[1] == y[0]);
            REQUIRE(y[2] == y[0]);
          }
        }
      }
    }
  }
}

// The rows [n, n + n_count) and tokens [t, t + t_count) of y [T, N]; n is the first of a group.
using Multiply = void (*)(const Kernels&, const Matrix&, size_t n, size_t n_count, size_t t, size_t t_count,
                          const std::vector<float>&, const Quantised&, float*);
void multiply_f32(const Kernels& row, const Matrix& w, size_t n, size_t n_count, size_t t, size_t t_count,
                  const std::vector<float>& x, const Quantised&, float* y) {
  row.matmul_f32[static_cast<size_t>(w.type)](w.row(n), n_count, w.cols, x.data() + t * w.cols, w.cols,
                                              t_count, y + t * w.rows + n, w.rows);
}
void multiply_i8(const Kernels& row, const Matrix& w, size_t n, size_t n_count, size_t t, size_t t_count,
                 const std::vector<float>&, const Quantised& x, float* y) {
  const QuantizedActivations at = x.at(t, w.cols);
  row.matmul_i8[static_cast<size_t>(w.type)](w.row(n), n_count, w.cols, &at, t_count, y + t * w.rows + n,
                                             w.rows);
}

TEST_CASE("a product is the same bit for bit however rows and tokens are split", "[kernels]") {
  const size_t N = 43, T = 29;
  for (const Kernels* row : runnable_rows()) {
    for (const DType type : all_types()) {
      const size_t K = dtype_info(type).block_values == 1 ? 523 : 512;
      const Weights weights(type, N, K, 5, 1);
      const std::vector<uint8_t> packed = weights.packed(*row);
      const Matrix w{packed.data(), type, N, K, row->lanes};
      Random random(6);
      const std::vector<float> x = random.normals(T * K);
      const Quantised quantised(*row, x, T, K / kActivationBlock * kActivationBlock);
      for (const Multiply multiply : {&multiply_f32, &multiply_i8}) {
        if (multiply == &multiply_i8 && row->matmul_i8[static_cast<size_t>(type)] == nullptr) continue;
        std::vector<float> whole(T * N);
        multiply(*row, w, 0, N, 0, T, x, quantised, whole.data());
        const size_t group = row->lanes;
        const Size steps[] = {{group, 1}, {N, 1}, {2 * group, 2}, {N, 3}, {3 * group, 4},  {N, 5},
                              {group, 6}, {N, 7}, {4 * group, 8}, {N, 9}, {2 * group, 17}, {group, T}};
        for (const auto [n_step, t_step] : steps) {
          std::vector<float> split(T * N);
          for (size_t n = 0; n < N; n += n_step)
            for (size_t t = 0; t < T; t += t_step)
              multiply(*row, w, n, std::min(n_step, N - n), t, std::min(t_step, T - t), x, quantised,
                       split.data());
          CAPTURE(label(*row, type), multiply == &multiply_i8, n_step, t_step);
          REQUIRE(same_bits(whole, split));
        }
      }
    }
  }
}

TEST_CASE("infinite and missing weights spoil their own output only", "[kernels]") {
  for (const Kernels* row : runnable_rows()) {
    for (const DType type : all_types()) {
      const size_t N = 11, K = 256;
      Weights w(type, N, K, 7);
      uint8_t* bad = w.bytes.data() + 4 * w.stride;
      if (type == DType::kF32) {
        const float infinity = INFINITY;
        std::memcpy(bad, &infinity, sizeof infinity);
      } else {
        set_half(bad + (half_fields(type).empty() ? 0 : half_fields(type)[0]),
                 type == DType::kBF16 ? 0x7f80 : 0x7c00);
      }
      const std::vector<uint8_t> packed = w.packed(*row);
      Random random(8);
      const std::vector<float> x = random.normals(K);
      const Quantised quantised(*row, x, 1, K);
      for (const Multiply multiply : {&multiply_f32, &multiply_i8}) {
        if (multiply == &multiply_i8 && row->matmul_i8[static_cast<size_t>(type)] == nullptr) continue;
        std::vector<float> y(N);
        multiply(*row, {packed.data(), type, N, K, row->lanes}, 0, N, 0, 1, x, quantised, y.data());
        for (size_t n = 0; n < N; ++n) {
          CAPTURE(label(*row, type), n, y[n]);
          REQUIRE(std::isfinite(y[n]) == (n != 4));
        }
      }
    }
  }
}
}  // namespace
}  // namespace g4
