#include "media/tower_layers.h"

#include <algorithm>
#include <cmath>

#include "quant/packing.h"

namespace g4 {
namespace {
constexpr size_t kRows = 576;     // of inputs that are clamped, or quantised, at a time
constexpr size_t kTokens = 96;    // of those, what stays in the second-level cache
constexpr size_t kSlabRows = 32;  // of a matrix that a thread packs and multiplies at a time
constexpr size_t kClampBlock = 4096;

void clamp(const float* x, float low, float high, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = std::min(std::max(x[i], low), high);
}
bool clamps(float low, float high) { return std::isfinite(low) || std::isfinite(high); }
}  // namespace

Status TowerLayers::reserve(size_t T, size_t widest_input) {
  const size_t inputs = std::min(T, kRows) * widest_input;
  G4_ASSIGN_OR_RETURN(clamped_, AlignedBuffer<float>::create(inputs));
  G4_ASSIGN_OR_RETURN(quantised_, AlignedBuffer<int8_t>::create(inputs));
  for (AlignedBuffer<float>* buffer : {&quantised_scale_, &quantised_sum_}) {
    G4_ASSIGN_OR_RETURN(*buffer, AlignedBuffer<float>::create(inputs / kActivationBlock));
  }
  G4_ASSIGN_OR_RETURN(
      slabs_, AlignedBuffer<float>::create(static_cast<size_t>(pool.size()) * kSlabRows * widest_input));
  return absl::OkStatus();
}

void TowerLayers::apply(const ClippedMatrix& w, const float* x, size_t T, float* y) {
  const size_t K = w.weight.cols, N = w.weight.rows, type = static_cast<size_t>(w.weight.type);
  const size_t slab_floats = slabs_.size() / static_cast<size_t>(pool.size());
  const bool is_int8 =
      precision_ == Precision::kInt8 && kernels.matmul_i8[type] != nullptr && K % kActivationBlock == 0;
  for (size_t t = 0; t < T; t += kRows, x += kRows * K, y += kRows * N) {
    const size_t count = std::min(kRows, T - t);
    Input input{x, nullptr};
    if (clamps(w.input_min, w.input_max)) {
      clamp_input(w, x, count);
      input.x = clamped_.data();
    }
    QuantizedActivations quantised;
    if (is_int8) {
      quantised = quantise(input.x, count, K);
      input.quantised = &quantised;
    }
    pool.for_each((N + kSlabRows - 1) / kSlabRows, [&](int worker, size_t i) {
      if (!cancelled())
        multiply(w, i * kSlabRows, input, count, slabs_.data() + static_cast<size_t>(worker) * slab_floats,
                 y);
    });
  }
}

void TowerLayers::clamp_input(const ClippedMatrix& w, const float* x, size_t T) {
  pool.parallel_for(T * w.weight.cols, kClampBlock, [&](size_t begin, size_t end) {
    clamp(x + begin, w.input_min, w.input_max, end - begin, clamped_.data() + begin);
  });
}

QuantizedActivations TowerLayers::quantise(const float* x, size_t T, size_t K) {
  const size_t blocks = K / kActivationBlock;
  for_rows(T, [&](size_t t) {
    kernels.quantize_row(x + t * K, K, quantised_.data() + t * K, quantised_scale_.data() + t * blocks,
                         quantised_sum_.data() + t * blocks);
  });
  return {quantised_.data(), quantised_scale_.data(), quantised_sum_.data()};
}

void TowerLayers::multiply(const ClippedMatrix& w, size_t n, const Input& input, size_t T, float* slab,
                           float* y) {
  const size_t K = w.weight.cols, N = w.weight.rows, type = static_cast<size_t>(w.weight.type);
  const size_t rows = std::min(kSlabRows, N - n), blocks = K / kActivationBlock;
  uint8_t* packed = reinterpret_cast<uint8_t*>(slab);
  pack_groups(w.weight.row_range(n, rows), kernels.lanes, 0, (rows + kernels.lanes - 1) / kernels.lanes,
              packed);
  for (size_t t = 0; t < T; t += kTokens) {
    const size_t count = std::min(kTokens, T - t);
    float* out = y + t * N + n;
    if (input.quantised != nullptr) {
      const QuantizedActivations x{input.quantised->q + t * K, input.quantised->scale + t * blocks,
                                   input.quantised->sum + t * blocks};
      kernels.matmul_i8[type](packed, rows, K, &x, count, out, N);
    } else {
      kernels.matmul_f32[type](packed, rows, K, input.x + t * K, K, count, out, N);
    }
    if (!clamps(w.output_min, w.output_max)) continue;
    for (size_t i = 0; i < count; ++i) clamp(out + i * N, w.output_min, w.output_max, rows, out + i * N);
  }
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
