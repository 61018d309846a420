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

// Values rounded to words by the definition: the largest of a block becomes kMaxWord.
std::vector<float> rounded_to_words(std::vector<float> values) {
  for (size_t begin = 0; begin < values.size(); begin += kWordBlock) {
    const size_t end = std::min(begin + kWordBlock, values.size());
    float largest = 0;
    for (size_t k = begin; k < end; ++k) largest = std::max(largest, std::abs(values[k]));
    const float factor = largest < 1e-30f ? 0.0f : float{kMaxWord} / largest;
    for (size_t k = begin; k < end; ++k)
      values[k] = std::nearbyint(values[k] * factor) * (largest / float{kMaxWord});
  }
  return values;
}
std::vector<float> as_they_are(std::vector<float> values) { return values; }

// Checks y [T, ldy] against sums in double precision, relative to the sum of magnitudes, and that it was not
// written elsewhere. round: what the product makes of a row of weights.
template <typename Round = decltype(&as_they_are)>
void check_product(const Weights& w, const std::vector<float>& x, size_t T, const std::vector<float>& y,
                   size_t ldy, double tolerance, Round round = &as_they_are) {
  for (size_t n = 0; n < w.rows; ++n) {
    const std::vector<float> row = round(w.row(n));
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

TEST_CASE("matmul_words agrees with double precision: every row, type and odd size", "[kernels]") {
  for (const Kernels* row : runnable_rows()) {
    for (const DType type : all_types()) {
      if (row->to_words[static_cast<size_t>(type)] == nullptr) continue;
      uint32_t seed = 1;
      for (const size_t K : column_counts(type)) {
        const Size size = kSizes[seed++ % std::size(kSizes)];
        CAPTURE(label(*row, type), size.N, K, size.T);
        const Weights w(type, size.N, K, seed, seed % 3 * 4);
        Random random(seed);
        const std::vector<WordBlock> x = as_words(*row, random.normals(size.T * K), size.T, K);
        const size_t ldy = size.N + seed % 3;
        std::vector<float> y(size.T * ldy, 77.0f), rounded(size.T * K);
        row->matmul_words(packed_words(*row, w).data(), size.N, K, x.data(), size.T, y.data(), ldy);
        for (size_t i = 0; i < rounded.size(); ++i) {
          const WordBlock& block = x[i / K * word_blocks(K) + i % K / kWordBlock];
          rounded[i] = block.scale * static_cast<float>(block.q[i % K % kWordBlock]);
        }
        check_product(w, rounded, size.T, y, ldy, 2e-6, &rounded_to_words);
      }
    }
  }
}

TEST_CASE("words are as exact as binary16 for values that are about alike", "[kernels]") {
  const size_t N = 40, K = 512, T = 6;
  Random random(11);
  const std::vector<float> x = random.normals(T * K);
  const Weights w(DType::kF32, N, K, 12);
  const auto half = [](float value) {
    uint16_t bits = 0;
    generic_kernels().store_kv[static_cast<size_t>(KvType::kF16)](&value, 1, &bits);
    dtype_info(DType::kF16).decode(reinterpret_cast<const uint8_t*>(&bits), &value, 1);
    return static_cast<double>(value);
  };
  double squares = 0;  // of the errors that operands rounded to binary16 make
  std::vector<double> exact(T * N);
  for (size_t n = 0; n < N; ++n) {
    const std::vector<float> row = w.row(n);
    for (size_t t = 0; t < T; ++t) {
      double rounded = 0;
      for (size_t k = 0; k < K; ++k) {
        exact[t * N + n] += static_cast<double>(row[k]) * static_cast<double>(x[t * K + k]);
        rounded += half(row[k]) * half(x[t * K + k]);
      }
      squares += (rounded - exact[t * N + n]) * (rounded - exact[t * N + n]);
    }
  }
  for (const Kernels* row : runnable_rows()) {
    if (row->matmul_words == nullptr) continue;
    std::vector<float> y(T * N);
    row->matmul_words(packed_words(*row, w).data(), N, K, as_words(*row, x, T, K).data(), T, y.data(), N);
    double errors = 0;
    for (size_t i = 0; i < y.size(); ++i)
      errors += (static_cast<double>(y[i]) - exact[i]) * (static_cast<double>(y[i]) - exact[i]);
    CAPTURE(row->name, std::sqrt(errors / squares));
    CHECK(errors < squares);
  }
}

TEST_CASE("matmul_words does not overflow", "[kernels]") {
  const size_t N = 3, K = 2 * kWordBlock;
  for (const Kernels* row : runnable_rows()) {
    if (row->matmul_words == nullptr) continue;
    Weights w(DType::kF32, N, K, 1);
    for (size_t i = 0; i < N * K; ++i) {
      const float largest = kMaxWord;
      std::memcpy(w.bytes.data() + 4 * i, &largest, sizeof largest);
    }
    for (const float sign : {1.0f, -1.0f}) {
      std::vector<float> y(N);
      row->matmul_words(packed_words(*row, w).data(), N, K,
                        as_words(*row, std::vector<float>(K, sign * kMaxWord), 1, K).data(), 1, y.data(), N);
      CAPTURE(row->name, sign);
      for (const float value : y) CHECK(value == sign * static_cast<float>(K * kMaxWord * kMaxWord));
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

// Operands of every product.
struct Operands {
  Operands(const Kernels& row, const Weights& weights, size_t T, uint32_t seed)
      : packed(weights.packed(row)),
        w{packed.data(), weights.type, weights.rows, weights.cols, row.lanes},
        x(Random(seed).normals(T * w.cols)),
        quantised(row, x, T, w.cols / kActivationBlock * kActivationBlock) {
    if (row.to_words[static_cast<size_t>(w.type)] == nullptr) return;
    words = as_words(row, x, T, w.cols);
    weight_words = packed_words(row, weights);
  }
  std::vector<uint8_t> packed, weight_words;
  Matrix w;
  std::vector<float> x;
  Quantised quantised;
  std::vector<WordBlock> words;
};

// The rows [n, n + n_count) and tokens [t, t + t_count) of y [T, N]; n is the first of a group.
using Multiply = void (*)(const Kernels&, const Operands&, size_t n, size_t n_count, size_t t, size_t t_count,
                          float*);
void multiply_f32(const Kernels& row, const Operands& o, size_t n, size_t n_count, size_t t, size_t t_count,
                  float* y) {
  row.matmul_f32[static_cast<size_t>(o.w.type)](o.w.row(n), n_count, o.w.cols, o.x.data() + t * o.w.cols,
                                                o.w.cols, t_count, y + t * o.w.rows + n, o.w.rows);
}
void multiply_i8(const Kernels& row, const Operands& o, size_t n, size_t n_count, size_t t, size_t t_count,
                 float* y) {
  const QuantizedActivations at = o.quantised.at(t, o.w.cols);
  row.matmul_i8[static_cast<size_t>(o.w.type)](o.w.row(n), n_count, o.w.cols, &at, t_count,
                                               y + t * o.w.rows + n, o.w.rows);
}
void multiply_words(const Kernels& row, const Operands& o, size_t n, size_t n_count, size_t t, size_t t_count,
                    float* y) {
  const size_t blocks = word_blocks(o.w.cols);
  row.matmul_words(o.weight_words.data() + n * blocks * sizeof(WordBlock), n_count, o.w.cols,
                   o.words.data() + t * blocks, t_count, y + t * o.w.rows + n, o.w.rows);
}

// The products that a row of kernels has for a matrix, by name.
std::vector<std::pair<const char*, Multiply>> products(const Kernels& row, const Matrix& w) {
  const size_t type = static_cast<size_t>(w.type);
  std::vector<std::pair<const char*, Multiply>> all = {{"f32", &multiply_f32}};
  if (row.matmul_i8[type] != nullptr) all.emplace_back("i8", &multiply_i8);
  if (row.to_words[type] != nullptr) all.emplace_back("words", &multiply_words);
  return all;
}

TEST_CASE("a product is the same bit for bit however rows and tokens are split", "[kernels]") {
  const size_t N = 75, T = 29;  // the largest tile is 4 groups of 16 rows
  for (const Kernels* row : runnable_rows()) {
    for (const DType type : all_types()) {
      const size_t K = dtype_info(type).block_values == 1 ? 1047 : 1280;
      const Operands operands(*row, Weights(type, N, K, 5, 4), T, 6);
      for (const auto& [name, multiply] : products(*row, operands.w)) {
        std::vector<float> whole(T * N);
        multiply(*row, operands, 0, N, 0, T, whole.data());
        const size_t group = row->lanes;
        const Size steps[] = {{group, 1}, {N, 1}, {2 * group, 2}, {N, 3}, {3 * group, 4},  {N, 5},
                              {group, 6}, {N, 7}, {4 * group, 8}, {N, 9}, {2 * group, 17}, {group, T}};
        for (const auto [n_step, t_step] : steps) {
          std::vector<float> split(T * N);
          for (size_t n = 0; n < N; n += n_step)
            for (size_t t = 0; t < T; t += t_step)
              multiply(*row, operands, n, std::min(n_step, N - n), t, std::min(t_step, T - t), split.data());
          CAPTURE(label(*row, type), name, n_step, t_step);
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
      const Operands operands(*row, w, 1, 8);
      for (const auto& [name, multiply] : products(*row, operands.w)) {
        std::vector<float> y(N);
        multiply(*row, operands, 0, N, 0, 1, y.data());
        for (size_t n = 0; n < N; ++n) {
          CAPTURE(label(*row, type), name, n, y[n]);
          REQUIRE(std::isfinite(y[n]) == (n != 4));
        }
      }
    }
  }
}
}  // namespace
}  // namespace g4
