// What the two towers are made of: linear layers with clips, norms, loops over rows. All in float32,
// but for products with quantised weights.
#pragma once
#include <atomic>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "kernels/table.h"
#include "media/towers.h"
#include "nn/linear.h"

namespace g4 {
// Who computes, and how products with quantised weights take their inputs.
struct MediaCompute {
  const Kernels& kernels;
  ThreadPool& pool;
  const std::atomic<bool>& cancel;
  Precision precision;
};

class TowerLayers {
 public:
  // Rows that are clipped, multiplied and clipped at a time, and of those the ones that weights are decoded
  // for: multiples of the tokens of a tile.
  static constexpr size_t kRows = 288, kTokens = 96;

  explicit TowerLayers(const MediaCompute& compute)
      : kernels(compute.kernels),
        pool(compute.pool),
        cancel_(compute.cancel),
        linear_(compute.kernels, compute.precision, compute.pool, scratch_, compute.cancel, kTokens) {}
  // widest_input: of all layers. Errors: memory.
  Status reserve(size_t widest_input);

  // y [T, w.rows] = x [T, w.cols] · Wᵀ, clamped before and after as w says.
  void apply(const ClippedMatrix& w, const float* x, size_t T, float* y);
  void apply(const Matrix& w, const float* x, size_t T, float* y) { apply(ClippedMatrix{w}, x, T, y); }
  // y = norm(x) · w for T rows; an empty w counts as 1.
  void norm(const float* x, Vector w, float eps, size_t T, size_t width, float* y);
  // x += factor · norm(block) · w; block is overwritten.
  void add_normed(float* block, Vector w, float eps, float factor, size_t T, size_t width, float* x);
  template <typename Body>
  void for_rows(size_t T, Body&& body) {  // body(t), shared out over the threads
    pool.parallel_for(T, 1, [&](size_t begin, size_t end) {
      for (size_t t = begin; t < end; ++t) body(t);
    });
  }
  bool cancelled() const { return cancel_.load(std::memory_order_relaxed); }

  const Kernels& kernels;
  ThreadPool& pool;

 private:
  // w as the kernels want it, until the next call. The weights stay in the file: they are used a few times
  // for each picture or sound, and packing is little work beside that.
  Matrix pack(const Matrix& w);

  const std::atomic<bool>& cancel_;
  Activations scratch_;  // of linear_
  Linear linear_;
  AlignedBuffer<float> clipped_;  // [kRows, widest_input]
  std::vector<uint8_t> packed_;   // the matrix at work
};
}  // namespace g4
