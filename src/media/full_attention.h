// Attention in which every position sees every other: two products and a softmax for each block of queries
// and block of keys. In float32.
#pragma once
#include "base/aligned_buffer.h"
#include "media/tower_layers.h"

namespace g4 {
class FullAttention {
 public:
  // Of T positions, `heads` heads of E values each.
  FullAttention(const MediaCompute& compute, size_t T, size_t heads, size_t E);
  // Errors: memory.
  Status reserve();

  // Copies the key or the value [E] of a head at position t. Any number of threads, each at other positions.
  void set_key(size_t head, size_t t, const float* k);
  void set_value(size_t head, size_t t, const float* v);
  // out [T, heads, E] from q [heads, T, E]. Incomplete if cancelled.
  void attend(const float* q_HTE, float* out_THE);

 private:
  // Queries [begin, end) of a head; worker: whose scratch it may use.
  void attend_block(int worker, size_t head, size_t begin, size_t end, const float* q_HTE, float* out_THE);

  const MediaCompute& compute_;
  const size_t T_, heads_, E_, lanes_;
  const size_t key_floats_, value_floats_;  // of a head
  // Packed as weights are (quant/packing.h): the keys of a head are a matrix [T, E]; its values are one
  // matrix [E, kKeyBlock] for each block of positions.
  AlignedBuffer<float> keys_, values_;
  AlignedBuffer<float> scratch_;  // [workers, kQueryBlock * (kKeyBlock + E)]
};
}  // namespace g4
