// What a Gemma 4 network looks like: plain data, read from the file, never from the model's name.
// Shape letters used everywhere: T tokens in the batch, S cached positions, L layers, D hidden size
// ("model"), H query heads, K KV heads, E head dim, F feed-forward, P per-layer-embedding width, V
// vocabulary, X experts.
#pragma once
#include <string>
#include <vector>

namespace g4 {
struct LayerConfig {
  bool is_sliding = false;  // sliding-window attention; otherwise full
  int kv_head_count = 0;    // K
  int head_dim = 0;         // E
  int ffn_dim = 0;          // F of the dense feed-forward
};

struct ModelConfig {
  std::string architecture;       // "gemma4"
  std::string name;               // general.name, for people; escaped where not printable ASCII
  int vocab_size = 0;             // V, rows of the token embedding
  int hidden_dim = 0;             // D
  int head_count = 0;             // H
  int context_length = 0;         // positions the model was made for
  int sliding_window = 0;         // W: position p sees p-W+1 ... p in sliding layers
  int shared_kv_layer_count = 0;  // the last layers that own no K and V
  int ple_dim = 0;                // P; 0: no per-layer embeddings
  int expert_count = 0;           // X; 0: dense
  int expert_used_count = 0;      // experts a token takes
  int expert_ffn_dim = 0;         // F of one expert
  float norm_eps = 1e-6f;
  float logit_softcap = 0;  // 0: none
  float rope_base_full = 1e6f;
  float rope_base_sliding = 1e4f;
  bool bidirectional_media = false;  // runs of image tokens see themselves whole in sliding layers
  std::vector<LayerConfig> layers;   // [L]

  int layer_count() const { return static_cast<int>(layers.size()); }
  // Layers below this own K and V; those from it on read the KV of their source layer.
  int first_shared_layer() const { return layer_count() - shared_kv_layer_count; }
  bool owns_kv(int layer) const { return layer < first_shared_layer(); }
};
}  // namespace g4
