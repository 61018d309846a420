// What the two towers are made of: linear layers with clips, norms, loops over rows. All in float32.
#pragma once
#include <atomic>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "kernels/table.h"
#include "media/towers.h"
#include "nn/linear.h"

namespace g4 {
// Who computes.
struct MediaCompute {
  const Kernels& kernels;
  ThreadPool& pool;
  const std::atomic<bool>& cancel;
};

class TowerLayers {
 public:
  explicit TowerLayers(const MediaCompute& compute)
      : kernels(compute.kernels),
        pool(compute.pool),
        cancel_(compute.cancel),
        linear_(compute.kernels, Precision::kF32, compute.pool, scratch_, compute.cancel) {}
  // widest_input: of the clipped layers. Errors: memory.
  Status reserve(size_t widest_input);

  // y [T, w.rows] = x [T, w.cols] · Wᵀ, clamped before and after as w says.
  void apply(const ClippedMatrix& w, const float* x, size_t T, float* y);
  void apply(const Matrix& w, const float* x, size_t T, float* y);
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
  void multiply(const Matrix& packed, const float* x, size_t T, float* y);

  const std::atomic<bool>& cancel_;
  Activations scratch_;  // of linear_
  Linear linear_;
  AlignedBuffer<float> clipped_;  // [kRows, widest_input]
  std::vector<uint8_t> packed_;   // the matrix at work
};
}  // namespace g4
