// Scratch memory of a forward pass, sized from the configuration for up to T rows. Grown before a call, never
// during it.
#pragma once
#include <cstddef>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "model/config.h"

namespace g4 {
struct Activations {
  AlignedBuffer<float> x_TD;       // the residual stream
  AlignedBuffer<float> embed_TD;   // the scaled embeddings, input of the per-layer-embedding projection
  AlignedBuffer<float> ple_TLP;    // per-layer embeddings
  AlignedBuffer<float> norm_TD;    // input of the next matrices
  AlignedBuffer<float> block_TD;   // output of an attention or feed-forward block
  AlignedBuffer<float> expert_TD;  // sum of the experts of a mixture
  AlignedBuffer<float> q_THE;      // queries
  AlignedBuffer<float> kv_TKE;     // keys, then values, of the batch
  AlignedBuffer<float> attn_THE;   // attention output
  AlignedBuffer<float> hidden_TF;  // gelu(gate) * up; also one expert's, and the per-layer-embedding gate
  AlignedBuffer<float> expert_in_TD, expert_out_TD;  // rows gathered for one expert, and what it made of them
  AlignedBuffer<float> router_TX;
  AlignedBuffer<float> cos_sliding_TE, sin_sliding_TE, cos_full_TE, sin_full_TE;  // [T, E/2] each
  AlignedBuffer<int8_t> quantised;  // the input of the current matrices, as int8
  AlignedBuffer<float> quantised_scale, quantised_sum;
  AlignedBuffer<float> tile;  // [workers, tile_floats]: outputs on their way
  size_t row_capacity = 0;    // T

  // Makes room for `rows` rows; keeps no contents. Errors: memory (then what was there before stays).
  Status reserve(const ModelConfig& config, size_t rows, size_t workers);
  // What reserve allocates.
  static uint64_t estimate_bytes(const ModelConfig& config, size_t rows, size_t workers);
  static size_t tile_floats(const ModelConfig& config);  // per worker
};
}  // namespace g4
