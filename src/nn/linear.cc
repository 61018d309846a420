#include "nn/linear.h"

#include "base/check.h"

namespace g4 {
bool Linear::uses_int8(const Matrix& w) const {
  return precision_ == Precision::kInt8 && kernels_.matmul_i8[static_cast<size_t>(w.type)] != nullptr &&
         K_ % kActivationBlock == 0;
}

void Linear::prepare(const Matrix& w) {
  G4_DCHECK(w.cols == K_);
  if (quantised_ || !uses_int8(w)) return;
  const size_t blocks = K_ / kActivationBlock;
  pool_.parallel_for(T_, 1, [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t)
      kernels_.quantize_row(x_ + t * K_, K_, act_.quantised.data() + t * K_,
                            act_.quantised_scale.data() + t * blocks, act_.quantised_sum.data() + t * blocks);
  });
  quantised_ = true;
}

void Linear::multiply(const Matrix& w, size_t n, size_t n_count, size_t t, size_t t_count, float* y,
                      size_t ldy) const {
  const size_t type = static_cast<size_t>(w.type);
  if (uses_int8(w)) {
    const size_t blocks = K_ / kActivationBlock;
    const QuantizedActivations x{act_.quantised.data() + t * K_, act_.quantised_scale.data() + t * blocks,
                                 act_.quantised_sum.data() + t * blocks};
    kernels_.matmul_i8[type](w.row(n), n_count, K_, &x, t_count, y, ldy);
  } else {
    kernels_.matmul_f32[type](w.row(n), n_count, K_, x_ + t * K_, K_, t_count, y, ldy);
  }
}

// The matrices stand one below the other, each filled up to whole blocks.
void Linear::products(std::span<const Product> products) {
  const auto filled = [](const Matrix& w) { return (w.rows + kRowBlock - 1) / kRowBlock * kRowBlock; };
  size_t rows = 0;
  for (const Product& product : products) {
    prepare(*product.w);
    rows += filled(*product.w);
  }
  for_blocks(rows, kRowBlock, [&](float*, size_t n, size_t n_count, size_t t, size_t t_count) {
    const Product* product = products.data();
    for (; n >= filled(*product->w); ++product) n -= filled(*product->w);
    const Matrix& w = *product->w;
    multiply(w, n, std::min(n_count, w.rows - n), t, t_count, product->y + t * w.rows + n, w.rows);
  });
}

void Linear::gated_product(const Matrix& gate, const Matrix& up, float* y) {
  prepare(gate);
  prepare(up);
  for_blocks(gate.rows, kRowBlock, [&](float* tile, size_t n, size_t n_count, size_t t, size_t t_count) {
    float* up_tile = tile + t_count * n_count;
    multiply(gate, n, n_count, t, t_count, tile, n_count);
    multiply(up, n, n_count, t, t_count, up_tile, n_count);
    for (size_t i = 0; i < t_count; ++i)
      kernels_.gelu_mul(tile + i * n_count, up_tile + i * n_count, n_count, y + (t + i) * gate.rows + n);
  });
}
}  // namespace g4
