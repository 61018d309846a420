#include "media/tower_layers.h"

#include <algorithm>
#include <cmath>

#include "quant/packing.h"

namespace g4 {
namespace {
constexpr size_t kRows = 1152;    // of inputs that are clamped, or rounded, at a time
constexpr size_t kTokens = 96;    // of those, what stays in the second-level cache with its outputs
constexpr size_t kSlabRows = 32;  // of a matrix that a thread packs and multiplies at a time

void clamp(const float* x, float low, float high, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = std::min(std::max(x[i], low), high);
}
bool clamps(float low, float high) { return std::isfinite(low) || std::isfinite(high); }
}  // namespace

Status TowerLayers::reserve(size_t T, std::span<const Matrix> shapes) {
  size_t widest = 0, packed_bytes = 0;
  for (const Matrix& w : shapes) {
    const size_t row_bytes = std::max(w.cols * sizeof(float), word_blocks(w.cols) * sizeof(WordBlock));
    packed_bytes = std::max(packed_bytes, (w.rows + kSlabRows - 1) / kSlabRows * kSlabRows * row_bytes);
    widest = std::max(widest, w.cols);
  }
  const size_t rows = std::min(T, kRows), inputs = rows * widest;
  G4_ASSIGN_OR_RETURN(clamped_, AlignedBuffer<float>::create(inputs));
  G4_ASSIGN_OR_RETURN(bytes_, AlignedBuffer<int8_t>::create(inputs));
  for (AlignedBuffer<float>* buffer : {&scale_, &sum_}) {
    G4_ASSIGN_OR_RETURN(*buffer, AlignedBuffer<float>::create(inputs / kActivationBlock));
  }
  G4_ASSIGN_OR_RETURN(words_, AlignedBuffer<WordBlock>::create(rows * word_blocks(widest)));
  G4_ASSIGN_OR_RETURN(packed_, AlignedBuffer<uint8_t>::create(packed_bytes));
  return absl::OkStatus();
}

// Weights in float32 are there to compare with: they are multiplied as they are.
TowerLayers::Inputs TowerLayers::inputs_of(const Matrix& w) const {
  const size_t type = static_cast<size_t>(w.type);
  if (precision_ == Precision::kF32 || w.type == DType::kF32) return Inputs::kFloats;
  if (kernels.to_words[type] != nullptr) return Inputs::kWords;
  if (kernels.matmul_i8[type] != nullptr && w.cols % kActivationBlock == 0) return Inputs::kBytes;
  return Inputs::kFloats;
}

void TowerLayers::apply(const ClippedMatrix& w, const float* x, size_t T, float* y) {
  const size_t K = w.weight.cols, N = w.weight.rows, slabs = (N + kSlabRows - 1) / kSlabRows;
  const Inputs inputs = inputs_of(w.weight);
  pool.for_each(slabs, [&](int, size_t slab) {
    if (!cancelled()) pack(w.weight, inputs, slab * kSlabRows);
  });
  for (size_t t = 0; t < T; t += kRows, x += kRows * K, y += kRows * N) {
    const size_t count = std::min(kRows, T - t), blocks = (count + kTokens - 1) / kTokens;
    const float* input = take_input(w, inputs, x, count);
    pool.for_each(slabs * blocks, [&](int, size_t task) {
      const size_t n = task / blocks * kSlabRows, begin = task % blocks * kTokens;
      if (!cancelled()) multiply(w, n, inputs, input, begin, std::min(kTokens, count - begin), y);
    });
  }
}

size_t TowerLayers::packed_row_bytes(const Matrix& w, Inputs inputs) {
  return inputs == Inputs::kWords ? word_blocks(w.cols) * sizeof(WordBlock) : w.stride_bytes();
}

void TowerLayers::pack(const Matrix& w, Inputs inputs, size_t n) {
  const size_t rows = std::min(kSlabRows, w.rows - n), lanes = kernels.lanes;
  const size_t groups = (rows + lanes - 1) / lanes, row_bytes = packed_row_bytes(w, inputs);
  uint8_t* out = packed_.data() + n * row_bytes;
  if (inputs != Inputs::kWords) return pack_groups(w.row_range(n, rows), lanes, 0, groups, out);
  if (rows < groups * lanes)
    std::fill_n(out + (groups - 1) * lanes * row_bytes, lanes * row_bytes, uint8_t{0});
  for (size_t r = 0; r < rows; ++r)
    kernels.to_words[static_cast<size_t>(w.type)](w.row(n + r), w.cols,
                                                  out + r / lanes * lanes * row_bytes + r % lanes * 4, lanes);
}

const float* TowerLayers::take_input(const ClippedMatrix& w, Inputs inputs, const float* x, size_t T) {
  const size_t K = w.weight.cols, blocks = K / kActivationBlock, word_row = word_blocks(K);
  const bool clamped = clamps(w.input_min, w.input_max);
  if (!clamped && inputs == Inputs::kFloats) return x;
  for_rows(T, [&](size_t t) {
    const float* row = x + t * K;
    if (clamped) {
      clamp(row, w.input_min, w.input_max, K, clamped_.data() + t * K);
      row = clamped_.data() + t * K;
    }
    if (inputs == Inputs::kBytes)
      kernels.quantize_row(row, K, bytes_.data() + t * K, scale_.data() + t * blocks,
                           sum_.data() + t * blocks);
    else if (inputs == Inputs::kWords)
      kernels.to_words[static_cast<size_t>(DType::kF32)](
          reinterpret_cast<const uint8_t*>(row), K, reinterpret_cast<uint8_t*>(words_.data() + t * word_row),
          1);
  });
  return clamped ? clamped_.data() : x;
}

void TowerLayers::multiply(const ClippedMatrix& w, size_t n, Inputs inputs, const float* x, size_t t,
                           size_t T, float* y) {
  const size_t K = w.weight.cols, N = w.weight.rows, type = static_cast<size_t>(w.weight.type);
  const size_t rows = std::min(kSlabRows, N - n), blocks = K / kActivationBlock;
  const uint8_t* packed = packed_.data() + n * packed_row_bytes(w.weight, inputs);
  float* out = y + t * N + n;
  if (inputs == Inputs::kWords) {
    kernels.matmul_words(packed, rows, K, words_.data() + t * word_blocks(K), T, out, N);
  } else if (inputs == Inputs::kBytes) {
    const QuantizedActivations bytes{bytes_.data() + t * K, scale_.data() + t * blocks,
                                     sum_.data() + t * blocks};
    kernels.matmul_i8[type](packed, rows, K, &bytes, T, out, N);
  } else {
    kernels.matmul_f32[type](packed, rows, K, x + t * K, K, T, out, N);
  }
  if (!clamps(w.output_min, w.output_max)) return;
  for (size_t i = 0; i < T; ++i) clamp(out + i * N, w.output_min, w.output_max, rows, out + i * N);
}

void TowerLayers::norm(const float* x, Vector w, float eps, size_t T, size_t width, float* y) {
  for_rows(T, [&](size_t t) { kernels.rms_norm(x + t * width, w.data(), eps, width, y + t * width); });
}

void TowerLayers::add_normed(float* block, Vector w, float eps, float factor, size_t T, size_t width,
                             float* x) {
  for_rows(T, [&](size_t t) {
    float* row = block + t * width;
    kernels.rms_norm(row, w.data(), eps, width, row);
    if (factor != 1.0f) kernels.scale(row, factor, width);
    kernels.add(x + t * width, row, width);
  });
}
}  // namespace g4
