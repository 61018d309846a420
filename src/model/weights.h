// The tensors of a text model as views into the file's mapping; its matrices, once packed, as views into one
// buffer. Absent tensors are empty views.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "io/tensor_source.h"
#include "model/config.h"
#include "quant/dtype.h"

namespace g4 {
using Vector =
    std::span<const float>;  // float32, in the mapping if it is aligned there, else a copy owned by Weights

// A stack of equal matrices, one after the other.
struct MatrixStack {
  Matrix first;
  size_t count = 0;
  bool empty() const { return first.empty(); }
  Matrix operator[](size_t i) const {
    Matrix matrix = first;
    matrix.data += i * first.size_bytes();
    return matrix;
  }
};

struct LayerWeights {
  Vector attn_norm;            // [D]
  Matrix attn_q;               // [H*E, D]
  Vector attn_q_norm;          // [E]
  Matrix attn_k;               // [K*E, D]; empty in KV-shared layers
  Vector attn_k_norm;          // [E]
  Matrix attn_v;               // [K*E, D]; empty where V is the raw K, and in KV-shared layers
  Matrix attn_output;          // [D, H*E]
  Vector post_attention_norm;  // [D]
  Vector ffn_norm;             // [D]
  Matrix ffn_gate, ffn_up;     // [F, D]
  Matrix ffn_down;             // [D, F]
  Vector post_ffw_norm;        // [D]
  // Mixture of experts, empty in dense models.
  Matrix router;                                            // ffn_gate_inp [X, D]
  Vector router_scale;                                      // [D]
  Vector pre_ffw_norm_2, post_ffw_norm_1, post_ffw_norm_2;  // [D]
  MatrixStack expert_gate_up;                               // X times gate, up [Fx, D]
  MatrixStack expert_down;                                  // X times [D, Fx]
  Vector expert_scale;                                      // [X]
  // Per-layer embedding, empty in models without it.
  Matrix ple_gate;            // inp_gate [P, D]
  Matrix ple_proj;            // proj [D, P]
  Vector ple_post_norm;       // post_norm [D]
  float output_scale = 1.0f;  // layer_output_scale
};

struct Weights {
  Matrix token_embd;           // [V, D]; packed only if it is the output matrix too
  Matrix output;               // [V, D]; the token embedding itself where the file has no output.weight
  Vector output_norm;          // [D]
  Vector rope_freqs;           // [E_full/2] divisors of the full layers' frequencies; empty: all 1
  MatrixStack ple_model_proj;  // per_layer_model_proj, L times [P, D]
  Vector ple_proj_norm;        // [P]
  std::vector<LayerWeights> layers;
  std::vector<std::unique_ptr<float[]>> copies;  // what Vector views could not point at in the mapping
  AlignedBuffer<uint8_t> packed;                 // what packed matrices point into
  uint64_t mapped_bytes = 0;                     // bytes of all tensors above, the PLE table not among them
};

// Finds and checks every tensor the configuration asks for: name, type, shape. The source must outlive the
// result. per_layer_token_embd is not among them (see DiskEmbedding). Errors: format, naming the tensor, what
// it is and what it must be.
StatusOr<Weights> load_weights(const TensorSource& source, const ModelConfig& config);
}  // namespace g4
