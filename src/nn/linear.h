// Matrix products of one set of inputs, in blocks over all threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <span>

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
// Into how many tasks the rows of a matrix are cut, and how many weights a task has at most: at the end the
// others wait for the last one. How many multiplications are worth a second thread: they take some 5 us.
inline constexpr size_t kTasksPerThread = 8, kMostOfATask = size_t{1} << 19, kLeastShared = size_t{1} << 18;

class Linear {
 public:
  Linear(const Kernels& kernels, Precision precision, ThreadPool& pool, Activations& activations,
         const std::atomic<bool>& cancel)
      : kernels_(kernels), precision_(precision), pool_(pool), act_(activations), cancel_(cancel) {}

  // The rows x [T, K] that the next products take; x must stay as it is until then.
  void set_input(const float* x, size_t T, size_t K) { x_ = x, T_ = T, K_ = K, quantised_ = false; }
  struct Product {
    const Matrix* w;
    float* y;
  };
  // y [T, w.rows] = x · Wᵀ for each of them, all in one step of the threads. Incomplete if cancelled.
  void products(std::span<const Product> products);
  void product(const Matrix& w, float* y) {
    const Product only[] = {{&w, y}};
    products(only);
  }
  // y [T, F] = gelu(x · gateᵀ) ⊙ (x · upᵀ)
  void gated_product(const Matrix& gate, const Matrix& up, float* y);
  // For every block of up to kRowBlock rows of w and up to kTokenBlock tokens: puts tile [t_count, n_count] =
  // x · Wᵀ of that block, and calls sink(tile, n_begin, n_count, t_begin, t_count) on the thread that made
  // it.
  template <typename Sink>
  void blocks(const Matrix& w, Sink&& sink) {
    prepare(w);
    for_blocks(w.rows, kRowBlock, [&](float* tile, size_t n, size_t n_count, size_t t, size_t t_count) {
      multiply(w, n, n_count, t, t_count, tile, n_count);
      sink(tile, n, n_count, t, t_count);
    });
  }
  // The same for matrices [begin, end) of a stack, each whole: sink(tile, index of the matrix, t_begin,
  // t_count).
  template <typename Sink>
  void blocks(const MatrixStack& w, size_t begin, size_t end, Sink&& sink) {
    prepare(w.first);
    const size_t rows = w.first.rows;
    for_blocks((end - begin) * rows, rows, [&](float* tile, size_t n, size_t, size_t t, size_t t_count) {
      const size_t index = begin + n / rows;
      multiply(w[index], 0, rows, t, t_count, tile, rows);
      sink(tile, index, t, t_count);
    });
  }

 private:
  bool uses_int8(const Matrix& w) const;
  void prepare(const Matrix& w);  // quantises the inputs if w wants that and it is not done yet
  void multiply(const Matrix& w, size_t n, size_t n_count, size_t t, size_t t_count, float* y,
                size_t ldy) const;
  // body(tile of this worker, n, n_count, t, t_count) for all blocks. A thread takes some rows, with all
  // their tokens, and comes back for more: so it does not matter if one is slower.
  template <typename Body>
  void for_blocks(size_t N, size_t block_rows, Body&& body) {
    const size_t workers = static_cast<size_t>(pool_.size()), tile_floats = act_.tile.size() / workers;
    const size_t blocks = (N + block_rows - 1) / block_rows;
    const size_t share = std::min(blocks / (kTasksPerThread * workers), kMostOfATask / (block_rows * K_));
    const size_t step = std::max<size_t>(1, share) * block_rows;
    const auto task = [&](int worker, size_t index) {
      float* tile = act_.tile.data() + static_cast<size_t>(worker) * tile_floats;
      const size_t begin = index * step, end = std::min(N, begin + step);
      for (size_t n = begin; n < end; n += block_rows)
        for (size_t t = 0; t < T_; t += kTokenBlock) {
          if (cancel_.load(std::memory_order_relaxed)) return;
          body(tile, n, std::min(block_rows, end - n), t, std::min(kTokenBlock, T_ - t));
        }
    };
    const size_t tasks = (N + step - 1) / step;
    if (N * K_ * T_ >= kLeastShared) return pool_.for_each(tasks, task);
    for (size_t i = 0; i < tasks; ++i) task(0, i);
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
