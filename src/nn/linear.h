// Matrix products of one set of inputs, in blocks over all threads.
#pragma once
#include <algorithm>
#include <atomic>

#include "base/thread_pool.h"
#include "kernels/table.h"
#include "nn/activations.h"
#include "nn/network.h"
#include "quant/dtype.h"

namespace g4 {
// A block of outputs: small enough that its weights stay in L1 and its inputs in L2, and that a cancel is
// seen soon.
inline constexpr size_t kRowBlock = 32;
inline constexpr size_t kTokenBlock = 64;
inline constexpr size_t kRowGrain = 8;  // threads share the rows of a matrix in multiples of this

class Linear {
 public:
  Linear(const Kernels& kernels, Precision precision, ThreadPool& pool, Activations& activations,
         const std::atomic<bool>& cancel)
      : kernels_(kernels), precision_(precision), pool_(pool), act_(activations), cancel_(cancel) {}

  // The rows x [T, K] that the next products take; x must stay as it is until then.
  void set_input(const float* x, size_t T, size_t K) { x_ = x, T_ = T, K_ = K, quantised_ = false; }
  // y [T, w.rows] = x · Wᵀ. Incomplete if cancelled.
  void product(const Matrix& w, float* y);
  // y [T, F] = gelu(x · gateᵀ) ⊙ (x · upᵀ)
  void gated_product(const Matrix& gate, const Matrix& up, float* y);
  // For every block of up to block_rows rows of w (a block starts at a multiple of it) and up to kTokenBlock
  // tokens: puts tile [t_count, n_count] = x · Wᵀ of that block, and calls sink(tile, n_begin, n_count,
  // t_begin, t_count) on the thread that made it.
  template <typename Sink>
  void blocks(const Matrix& w, size_t block_rows, Sink&& sink) {
    prepare(w);
    for_blocks(w.rows, block_rows, block_rows,
               [&](float* tile, size_t n, size_t n_count, size_t t, size_t t_count) {
                 multiply(w, n, n_count, t, t_count, tile, n_count);
                 sink(tile, n, n_count, t, t_count);
               });
  }

 private:
  bool uses_int8(const Matrix& w) const;
  void prepare(const Matrix& w);  // quantises the inputs if w wants that and it is not done yet
  void multiply(const Matrix& w, size_t n, size_t n_count, size_t t, size_t t_count, float* y,
                size_t ldy) const;
  // body(tile of this worker, n, n_count, t, t_count) for all blocks; threads share rows in multiples of
  // grain.
  template <typename Body>
  void for_blocks(size_t N, size_t block_rows, size_t grain, Body&& body) {
    const size_t workers = static_cast<size_t>(pool_.size()), units = (N + grain - 1) / grain;
    const size_t tile_floats = act_.tile.size() / workers;
    pool_.run([&](int worker) {
      const size_t w = static_cast<size_t>(worker);
      const size_t begin = units * w / workers * grain, end = std::min(N, units * (w + 1) / workers * grain);
      for (size_t t = 0; t < T_; t += kTokenBlock) {
        for (size_t n = begin; n < end; n += block_rows) {
          if (cancel_.load(std::memory_order_relaxed)) return;
          body(act_.tile.data() + w * tile_floats, n, std::min(block_rows, end - n), t,
               std::min(kTokenBlock, T_ - t));
        }
      }
    });
  }

  const Kernels& kernels_;
  Precision precision_;
  ThreadPool& pool_;
  Activations& act_;
  const std::atomic<bool>& cancel_;
  const float* x_ = nullptr;
  size_t T_ = 0, K_ = 0;
  bool quantised_ = false;
};
}  // namespace g4
