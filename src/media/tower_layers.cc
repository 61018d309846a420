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

Status TowerLayers::reserve(size_t T, size_t widest_input) {
  const size_t rows = std::min(T, kRows), inputs = rows * widest_input, blocks = word_blocks(widest_input);
  G4_ASSIGN_OR_RETURN(clamped_, AlignedBuffer<float>::create(inputs));
  G4_ASSIGN_OR_RETURN(bytes_, AlignedBuffer<int8_t>::create(inputs));
  for (AlignedBuffer<float>* buffer : {&scale_, &sum_}) {
    G4_ASSIGN_OR_RETURN(*buffer, AlignedBuffer<float>::create(inputs / kActivationBlock));
  }
  G4_ASSIGN_OR_RETURN(words_, AlignedBuffer<WordBlock>::create(rows * blocks));
  slab_bytes_ = kSlabRows * std::max(widest_input * sizeof(float), blocks * sizeof(WordBlock));
  G4_ASSIGN_OR_RETURN(slabs_, AlignedBuffer<uint8_t>::create(static_cast<size_t>(pool.size()) * slab_bytes_));
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
  const size_t K = w.weight.cols, N = w.weight.rows;
  const Inputs inputs = inputs_of(w.weight);
  for (size_t t = 0; t < T; t += kRows, x += kRows * K, y += kRows * N) {
    const size_t count = std::min(kRows, T - t);
    const float* input = take_input(w, inputs, x, count);
    pool.for_each((N + kSlabRows - 1) / kSlabRows, [&](int worker, size_t i) {
      uint8_t* slab = slabs_.data() + static_cast<size_t>(worker) * slab_bytes_;
      if (!cancelled()) multiply(w, i * kSlabRows, inputs, input, count, slab, y);
    });
  }
}

const float* TowerLayers::take_input(const ClippedMatrix& w, Inputs inputs, const float* x, size_t T) {
  const size_t K = w.weight.cols, blocks = K / kActivationBlock, word_row = word_blocks(K);
  const bool clamped = clamps(w.input_min, w.input_max);
  if (!clamped && inputs == Inputs::kFloats) return x;
  pool.for_each(T, [&](int worker, size_t t) {
    const float* row = x + t * K;
    if (clamped) {  // where a row is rounded at once, to this worker's slab, which is free meanwhile
      float* to = inputs == Inputs::kFloats
                      ? clamped_.data() + t * K
                      : reinterpret_cast<float*>(slabs_.data() + static_cast<size_t>(worker) * slab_bytes_);
      clamp(row, w.input_min, w.input_max, K, to);
      row = to;
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

void TowerLayers::multiply(const ClippedMatrix& w, size_t n, Inputs inputs, const float* x, size_t T,
                           uint8_t* slab, float* y) {
  const size_t K = w.weight.cols, N = w.weight.rows, type = static_cast<size_t>(w.weight.type);
  const size_t rows = std::min(kSlabRows, N - n), blocks = K / kActivationBlock;
  const Matrix weight = w.weight.row_range(n, rows);
  if (inputs == Inputs::kWords)
    pack_words(weight, slab);
  else
    pack_groups(weight, kernels.lanes, 0, (rows + kernels.lanes - 1) / kernels.lanes, slab);
  for (size_t t = 0; t < T; t += kTokens) {
    const size_t count = std::min(kTokens, T - t);
    float* out = y + t * N + n;
    if (inputs == Inputs::kWords) {
      kernels.matmul_words(slab, rows, K, words_.data() + t * word_blocks(K), count, out, N);
    } else if (inputs == Inputs::kBytes) {
      const QuantizedActivations bytes{bytes_.data() + t * K, scale_.data() + t * blocks,
                                       sum_.data() + t * blocks};
      kernels.matmul_i8[type](slab, rows, K, &bytes, count, out, N);
    } else {
      kernels.matmul_f32[type](slab, rows, K, x + t * K, K, count, out, N);
    }
    if (!clamps(w.output_min, w.output_max)) continue;
    for (size_t i = 0; i < count; ++i) clamp(out + i * N, w.output_min, w.output_max, rows, out + i * N);
  }
}

void TowerLayers::pack_words(const Matrix& w, uint8_t* out) const {
  const size_t lanes = kernels.lanes, group_bytes = lanes * word_blocks(w.cols) * sizeof(WordBlock);
  if (w.rows % lanes != 0) std::fill_n(out + w.rows / lanes * group_bytes, group_bytes, uint8_t{0});
  for (size_t r = 0; r < w.rows; ++r)
    kernels.to_words[static_cast<size_t>(w.type)](w.row(r), w.cols,
                                                  out + r / lanes * group_bytes + r % lanes * 4, lanes);
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
