// Per-layer embeddings (gemma4.md 2): the table's rows from disk, the projection of the embeddings, and the
// gate of each layer.
#include <cmath>

#include "nn/forward.h"

namespace g4 {
// ple_TLP = table row of every token. The rows were asked for in embed().
Status Forward::ple_identity() { return net_.ple->read_rows(tokens_, act_.ple_TLP.data()); }

// ple = (row · sqrt(P) + norm(model_proj · embed · D^-0.5)) · 2^-0.5 for layers [layer_begin, layer_end) of
// the rows still running.
void Forward::ple_context(int layer_begin, int layer_end) {
  const size_t P = static_cast<size_t>(net_.config.ple_dim), width = ple_width();
  const float embed_scale = 1.0f / std::sqrt(static_cast<float>(D_)),
              row_scale = std::sqrt(static_cast<float>(P));
  linear_.set_input(act_.embed_TD.data(), T(), D_);
  linear_.blocks(net_.weights.ple_model_proj, static_cast<size_t>(layer_begin),
                 static_cast<size_t>(layer_end), [&](float* tile, size_t layer, size_t t, size_t t_count) {
                   for (size_t i = 0; i < t_count; ++i) {
                     float* context = tile + i * P;
                     float* ple = act_.ple_TLP.data() + (t + i) * width + layer * P;
                     kernels_.scale(context, embed_scale, P);
                     kernels_.rms_norm(context, net_.weights.ple_proj_norm.data(), net_.config.norm_eps, P,
                                       context);
                     kernels_.scale(ple, row_scale, P);
                     kernels_.add(ple, context, P);
                     kernels_.scale(ple, std::sqrt(0.5f), P);
                   }
                 });
}

// x += norm(proj · (gelu(inp_gate · x) ⊙ ple[layer]))
void Forward::ple_gate(int layer) {
  const LayerWeights& w = weights(layer);
  const size_t P = static_cast<size_t>(net_.config.ple_dim), width = ple_width();
  float* gate_TP = act_.hidden_TF.data();
  linear_.set_input(act_.x_TD.data(), T(), D_);
  linear_.blocks(w.ple_gate, [&](float* tile, size_t n, size_t n_count, size_t t, size_t t_count) {
    const float* ple = act_.ple_TLP.data() + t * width + static_cast<size_t>(layer) * P + n;
    for (size_t i = 0; i < t_count; ++i)
      kernels_.gelu_mul(tile + i * n_count, ple + i * width, n_count, gate_TP + (t + i) * P + n);
  });
  linear_.set_input(gate_TP, T(), P);
  linear_.product(w.ple_proj, act_.block_TD.data());
  add_normed_block(w.ple_post_norm);
}
}  // namespace g4
