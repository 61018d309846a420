// What the tests of the kernels share: the rows this machine runs, random operands, weights in every type.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "kernels/table.h"
#include "quant/packing.h"

namespace g4 {
inline std::vector<const Kernels*> runnable_rows() {
  std::vector<const Kernels*> rows;
  size_t count = 0;
  const Kernels* const* all = kernel_rows(&count);
  const uint32_t features = detect_cpu_features();
  for (size_t i = 0; i < count; ++i)
    if ((all[i]->required_features & ~features) == 0) rows.push_back(all[i]);
  return rows;
}

inline const Kernels& generic_kernels() { return *select_kernels(0, "generic"); }

inline std::vector<DType> all_types() {
  std::vector<DType> types;
  for (int i = 0; i < kDTypeCount; ++i) types.push_back(static_cast<DType>(i));
  return types;
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t bits() { return engine_(); }
  int integer(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  float normal(float sigma = 1) { return std::normal_distribution<float>(0, sigma)(engine_); }
  std::vector<float> normals(size_t count, float sigma = 1) {
    std::vector<float> values(count);
    for (float& value : values) value = normal(sigma);
    return values;
  }

 private:
  std::mt19937 engine_;
};

// Where in a block the binary16 fields lie, which random bytes would make infinite.
inline std::vector<size_t> half_fields(DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kBF16:
      return {};
    case DType::kQ4_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {0, 2};
    case DType::kQ6_K:
      return {208};
    default:
      return {0};
  }
}

inline void set_half(uint8_t* field, uint16_t half) { std::memcpy(field, &half, sizeof half); }

// Rows of random weights, in an allocation of exactly their size plus `misalignment` bytes in front.
struct Weights {
  Weights(DType dtype, size_t row_count, size_t col_count, uint32_t seed, size_t misalignment = 0)
      : type(dtype),
        rows(row_count),
        cols(col_count),
        stride(row_bytes(dtype, col_count)),
        skip(misalignment) {
    Random random(seed);
    bytes.resize(skip + rows * stride);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.bits());
    const size_t block = dtype_info(type).block_bytes;
    for (size_t at = skip; at < bytes.size(); at += block) {
      if (type == DType::kF32) {
        const float value = random.normal();
        std::memcpy(&bytes[at], &value, sizeof value);
      } else if (type == DType::kBF16) {
        const float value = random.normal();
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        set_half(&bytes[at], static_cast<uint16_t>(bits >> 16));
      }
      for (const size_t field : half_fields(type))  // 2^-10 ... 2^-4, either sign
        set_half(&bytes[at + field],
                 static_cast<uint16_t>((random.bits() & 0x83ff) | random.integer(5, 11) << 10));
    }
  }
  const uint8_t* data() const { return bytes.data() + skip; }
  std::vector<float> row(size_t r) const {
    std::vector<float> values(cols);
    dtype_info(type).decode(data() + r * stride, values.data(), cols);
    return values;
  }

  // As a row of the kernel table wants them, in an allocation of exactly their size.
  std::vector<uint8_t> packed(const Kernels& kernels) const {
    const Matrix matrix{data(), type, rows, cols};
    const size_t groups = (rows + kernels.lanes - 1) / kernels.lanes;
    std::vector<uint8_t> out(groups * kernels.lanes * stride, 0xee);
    pack_groups(matrix, kernels.lanes, 0, groups, out.data());
    return out;
  }

  DType type;
  size_t rows, cols, stride, skip;
  std::vector<uint8_t> bytes;
};

// T rows of activations, quantised by the kernels of `row`.
struct Quantised {
  Quantised(const Kernels& row, const std::vector<float>& x, size_t token_count, size_t K)
      : q(token_count * K), scale(q.size() / kActivationBlock), sum(scale.size()) {
    for (size_t t = 0; t < token_count; ++t)
      row.quantize_row(x.data() + t * K, K, q.data() + t * K, scale.data() + t * K / kActivationBlock,
                       sum.data() + t * K / kActivationBlock);
  }
  QuantizedActivations view() const { return {q.data(), scale.data(), sum.data()}; }
  QuantizedActivations at(size_t t, size_t K) const {
    return {q.data() + t * K, scale.data() + t * K / kActivationBlock, sum.data() + t * K / kActivationBlock};
  }
  std::vector<int8_t> q;
  std::vector<float> scale, sum;
};

// T rows of activations as words.
inline std::vector<WordBlock> as_words(const Kernels& row, const std::vector<float>& x, size_t T, size_t K) {
  std::vector<WordBlock> words(T * word_blocks(K));
  for (size_t t = 0; t < T; ++t)
    row.to_words[static_cast<size_t>(DType::kF32)](
        reinterpret_cast<const uint8_t*>(x.data() + t * K), K,
        reinterpret_cast<uint8_t*>(words.data() + t * word_blocks(K)), 1);
  return words;
}
// The same for packed weights, in an allocation of exactly their size.
inline std::vector<uint8_t> packed_words(const Kernels& row, const Weights& w) {
  const size_t group_bytes = row.lanes * word_blocks(w.cols) * sizeof(WordBlock);
  std::vector<uint8_t> out((w.rows + row.lanes - 1) / row.lanes * group_bytes);
  for (size_t r = 0; r < w.rows; ++r)
    row.to_words[static_cast<size_t>(w.type)](w.data() + r * w.stride, w.cols,
                                              out.data() + r / row.lanes * group_bytes + r % row.lanes * 4,
                                              row.lanes);
  return out;
}

// Equal bit for bit, NaNs included.
inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
inline std::string label(const Kernels& row, DType type) {
  return std::string(row.name) + " " + dtype_info(type).name;
}
}  // namespace g4
