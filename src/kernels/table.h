// The kernels of one instruction set: plain C types, no state, no allocation. The generic row is the
// reference the others are compared with. Every value a kernel writes depends only on the operands of that
// value, never on how many rows or tokens the call covers: so the results of a model do not depend on
// chunking, batching or the number of threads, bit for bit.
#pragma once
#include <cstddef>
#include <cstdint>

#include "quant/dtype.h"

namespace g4 {
inline constexpr size_t kActivationBlock = 32;  // activations share a scale per 32 values

// Activations of T tokens quantised to int8 in blocks of 32 along K; K is a multiple of 32.
//   value[t, k] ~ scale[t, k/32] * q[t, k],  |q| <= 127
//   sum[t, b] = scale[t, b] * (sum of q over block b), for formats with an offset (Q4_0: -8, Q4_1: +m, ...)
struct QuantizedActivations {
  const int8_t* q;     // [T, K]
  const float* scale;  // [T, K/32]
  const float* sum;    // [T, K/32]
};

// Words: values as integers of 13 bits, which share a scale per 128 values; value ~ scale * q. The last block
// of a row is filled up with zeros. |q| <= kMaxWord, so that the products of a block fit 32 bits. For values
// that are about alike this is as exact as binary16.
inline constexpr size_t kWordBlock = 128;
inline constexpr int kMaxWord = 4095;
static_assert(int64_t{kMaxWord} * kMaxWord * int64_t{kWordBlock} < int64_t{1} << 31);
struct WordBlock {
  float scale;
  int16_t q[kWordBlock];
};
static constexpr size_t word_blocks(size_t K) { return (K + kWordBlock - 1) / kWordBlock; }

// KV of one page of kPagePositions positions, one KV head: rows of E values. Q8_0: blocks of 32 values, a
// binary16 scale and an int8 each as in the weight format; the last block is filled up with zeros.
enum class KvType : uint8_t { kF16, kF32, kQ8_0 };
inline constexpr size_t kKvTypeCount = 3;
inline constexpr int kPagePositions = 32;
static constexpr size_t kv_row_bytes(KvType type, size_t E) {
  return type == KvType::kF32 ? 4 * E : type == KvType::kF16 ? 2 * E : (E + 31) / 32 * 34;
}

// Online-softmax state of one (token, query head): starts as {-inf, 0} and a zeroed accumulator.
struct SoftmaxState {
  float max;
  float sum;
};

struct Kernels {
  const char* name;            // "generic", "avx2", ...
  uint32_t required_features;  // CpuFeature bits
  size_t lanes;                // rows that its packed weights interleave (quant/packing.h)

  // y[t*ldy + n] = sum_k W[n, k] * x[t*ldx + k], weights decoded to float32. w: N packed rows, the first of
  // them the first of a group. One entry per DType.
  void (*matmul_f32[kDTypeCount])(const uint8_t* w, size_t N, size_t K, const float* x, size_t ldx, size_t T,
                                  float* y, size_t ldy);
  // The same with int8 activations and int32 sums per block; nullptr for the float types (F32, F16, BF16). K
  // % 32 == 0.
  void (*matmul_i8[kDTypeCount])(const uint8_t* w, size_t N, size_t K, const QuantizedActivations* x,
                                 size_t T, float* y, size_t ldy);
  // The same with weights and activations [T, word_blocks(K)] in words; faster than matmul_f32. w: N rows of
  // words, packed as weights are, all fields of 4 bytes. nullptr where it would not be faster.
  void (*matmul_words)(const uint8_t* w, size_t N, size_t K, const WordBlock* x, size_t T, float* y,
                       size_t ldy);
  // A row of K values in the encoding of a file, as aligned as its numbers, to words, whose fields of 4 bytes
  // come 4 * step bytes after one another: step is 1 for activations (F32), lanes for a row of packed
  // weights. nullptr for types for which matmul_i8 is as fast.
  void (*to_words[kDTypeCount])(const uint8_t* row, size_t K, uint8_t* out, size_t step);
  // One row of activations: q[K], scale[K/32], sum[K/32]. K % 32 == 0.
  void (*quantize_row)(const float* x, size_t K, int8_t* q, float* scale, float* sum);

  // y = x / sqrt(mean(x^2) + eps) * w; w == nullptr means 1. x == y allowed.
  void (*rms_norm)(const float* x, const float* w, float eps, size_t n, float* y);
  // x += y
  void (*add)(float* x, const float* y, size_t n);
  // x *= s
  void (*scale)(float* x, float s, size_t n);
  // y = gelu_tanh(gate) * up; any aliasing of whole arrays allowed.
  void (*gelu_mul)(const float* gate, const float* up, size_t n, float* y);
  // y = sigmoid(gate) * x; any aliasing of whole arrays allowed. With x == gate: SiLU.
  void (*sigmoid_mul)(const float* gate, const float* x, size_t n, float* y);
  // x = cap * tanh(x / cap)
  void (*softcap)(float* x, float cap, size_t n);
  // Online softmax, n >= 1 scores at a time: makes weights of them, relative to the largest score so far, and
  // adds those to the state. Returns the factor by which what was accumulated before counts from now on.
  float (*softmax)(float* score, size_t n, SoftmaxState* state);
  // Rotates halves: (x[d], x[d + half]) by the angle whose cosine and sine are cos[d], sin[d]; d < half.
  void (*rope)(float* x, const float* cos, const float* sin, size_t half);

  // Attends G query rows (q[g] and accumulator[g] are float32 [E]), all of one KV head, to the positions
  // [begin, end) of one page of K and V (each kPagePositions rows of the KvType), updating state[G] and the
  // accumulators. Scale 1.0. The more rows, the better: the page is decoded once for all.
  void (*attend_page[kKvTypeCount])(const float* const* q, size_t G, size_t E, const void* k, const void* v,
                                    int begin, int end, SoftmaxState* state, float* const* accumulator);
  // float32 row -> KV row of E values.
  void (*store_kv[kKvTypeCount])(const float* x, size_t E, void* row);
};

// All rows built into this library, best first; the last is "generic".
const Kernels* const* kernel_rows(size_t* count);
// The best row for these features, or the one called `name` if given (nullptr when unknown or when the
// features lack).
const Kernels* select_kernels(uint32_t features, const char* name);
}  // namespace g4
