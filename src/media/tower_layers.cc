#include "media/tower_layers.h"

#include <algorithm>
#include <cmath>

#include "quant/packing.h"

namespace g4 {
namespace {
constexpr size_t kClampBlock = 4096;

void clamp(const float* x, float low, float high, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = std::min(std::max(x[i], low), high);
}
bool clamps(float low, float high) { return std::isfinite(low) || std::isfinite(high); }
}  // namespace

Status TowerLayers::reserve(size_t widest_input) {
  G4_ASSIGN_OR_RETURN(clipped_, AlignedBuffer<float>::create(kRows * widest_input));
  G4_ASSIGN_OR_RETURN(scratch_.quantised, AlignedBuffer<int8_t>::create(kRows * widest_input));
  for (AlignedBuffer<float>* buffer : {&scratch_.quantised_scale, &scratch_.quantised_sum}) {
    G4_ASSIGN_OR_RETURN(*buffer, AlignedBuffer<float>::create(kRows * widest_input / kActivationBlock));
  }
  return absl::OkStatus();
}

Matrix TowerLayers::pack(const Matrix& w) {
  Matrix packed = w;
  packed.lanes = kernels.lanes;
  if (packed_.size() < packed.size_bytes()) packed_.resize(packed.size_bytes());
  packed.data = packed_.data();
  pool.parallel_for(packed.stored_rows() / packed.lanes, 1, [&](size_t begin, size_t end) {
    pack_groups(w, packed.lanes, begin, end, packed_.data());
  });
  return packed;
}

void TowerLayers::apply(const ClippedMatrix& w, const float* x, size_t T, float* y) {
  const size_t K = w.weight.cols, N = w.weight.rows;
  const Matrix packed = pack(w.weight);
  for (size_t t = 0; t < T; t += kRows) {
    const size_t count = std::min(kRows, T - t);
    const float* in = x + t * K;
    float* out = y + t * N;
    if (clamps(w.input_min, w.input_max)) {
      pool.parallel_for(count * K, kClampBlock, [&](size_t begin, size_t end) {
        clamp(in + begin, w.input_min, w.input_max, end - begin, clipped_.data() + begin);
      });
      in = clipped_.data();
    }
    linear_.set_input(in, count, K);
    linear_.product(packed, out);
    if (clamps(w.output_min, w.output_max))
      pool.parallel_for(count * N, kClampBlock, [&](size_t begin, size_t end) {
        clamp(out + begin, w.output_min, w.output_max, end - begin, out + begin);
      });
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
