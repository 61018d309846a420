// What the two towers are made of: linear layers with clips, norms, loops over rows. All in float32, but for
// the products of weights that are stored in fewer bits.
#pragma once
#include <atomic>
#include <span>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "kernels/table.h"
#include "media/towers.h"
#include "nn/network.h"

namespace g4 {
// Who computes, and whether products may round their inputs.
struct MediaCompute {
  const Kernels& kernels;
  ThreadPool& pool;
  const std::atomic<bool>& cancel;
  Precision precision;
};

class TowerLayers {
 public:
  explicit TowerLayers(const MediaCompute& compute)
      : kernels(compute.kernels),
        pool(compute.pool),
        cancel_(compute.cancel),
        precision_(compute.precision) {}
  // For up to T rows of inputs and matrices of these shapes. Errors: memory.
  Status reserve(size_t T, std::span<const Matrix> shapes);

  // y [T, w.rows] = x [T, w.cols] · Wᵀ, clamped before and after as w says. Incomplete if cancelled.
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
  // In what form the products of a matrix take their inputs; in words, the weights are rounded as well.
  enum class Inputs : uint8_t { kFloats, kBytes, kWords };
  Inputs inputs_of(const Matrix& w) const;
  static size_t packed_row_bytes(const Matrix& w, Inputs inputs);
  // Packs a slab of w, whose first row is n.
  void pack(const Matrix& w, Inputs inputs, size_t n);
  // x [T, w.cols] clamped and rounded for the products of w; returns the floats.
  const float* take_input(const ClippedMatrix& w, Inputs inputs, const float* x, size_t T);
  // The outputs of the slab from row n on, for T inputs from t on. x is what take_input returned.
  void multiply(const ClippedMatrix& w, size_t n, Inputs inputs, const float* x, size_t t, size_t T,
                float* y);

  const std::atomic<bool>& cancel_;
  const Precision precision_;
  AlignedBuffer<float> clamped_;  // [kRows, widest input]
  AlignedBuffer<int8_t> bytes_;
  AlignedBuffer<float> scale_, sum_;
  AlignedBuffer<WordBlock> words_;
  // The matrix at work. The weights stay in the file: they are used once or twice for each picture or sound,
  // and packing is little work beside that.
  AlignedBuffer<uint8_t> packed_;
};
}  // namespace g4
