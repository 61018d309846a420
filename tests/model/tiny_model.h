// Small Gemma 4 files of any kind, written key by key and tensor by tensor from their sizes: what read_config
// and load_weights must accept, and what tests then damage.
#pragma once
#include <string>
#include <vector>

#include "tests/support/gguf_writer.h"

namespace g4 {
struct TinyModel {
  std::string pattern = "SSFSF";  // S: sliding, F: full
  uint32_t hidden = 32, heads = 4, kv_heads_sliding = 2, kv_heads_full = 1, head_dim_sliding = 8,
           head_dim_full = 16;
  uint32_t ffn = 48, ffn_shared = 64, shared = 2, ple = 8, vocab = 20, window = 6;
  uint32_t experts = 0, experts_used = 2, expert_ffn = 24;
  bool k_is_v = false;       // full layers have no V
  DType type = DType::kF32;  // of the matrices

  uint64_t layer_count() const { return pattern.size(); }
  bool full(size_t layer) const { return pattern[layer] == 'F'; }
  bool owns(size_t layer) const { return layer < pattern.size() - shared; }
  uint64_t head_dim(size_t layer) const { return full(layer) ? head_dim_full : head_dim_sliding; }
  uint64_t kv_dim(size_t layer) const {
    return head_dim(layer) * (full(layer) ? kv_heads_full : kv_heads_sliding);
  }

  GgufWriter write() const {
    GgufWriter writer;
    write_keys(writer);
    write_model_tensors(writer);
    for (size_t layer = 0; layer < layer_count(); ++layer) write_layer(writer, layer);
    return writer;
  }
  void write_keys(GgufWriter& writer) const {
    std::vector<bool> sliding;
    std::vector<int32_t> kv_heads, ffn_dims;
    for (size_t layer = 0; layer < layer_count(); ++layer) {
      sliding.push_back(!full(layer));
      kv_heads.push_back(static_cast<int32_t>(full(layer) ? kv_heads_full : kv_heads_sliding));
      ffn_dims.push_back(static_cast<int32_t>(owns(layer) ? ffn : ffn_shared));
    }
    writer.set("general.architecture", std::string("gemma4")).set("general.name", std::string("tiny"));
    const auto set = [&](const std::string& name, auto value) { writer.set("gemma4." + name, value); };
    set("block_count", static_cast<uint32_t>(layer_count()));
    set("context_length", uint32_t{4096});
    set("embedding_length", hidden);
    writer.set_array("gemma4.feed_forward_length", ffn_dims);
    set("attention.head_count", heads);
    writer.set_array("gemma4.attention.head_count_kv", kv_heads);
    set("rope.freq_base", 1e6f);
    set("rope.freq_base_swa", 1e4f);
    set("attention.layer_norm_rms_epsilon", 1e-6f);
    if (experts > 0) {
      set("expert_count", experts);
      set("expert_used_count", experts_used);
      set("expert_feed_forward_length", expert_ffn);
    }
    set("attention.key_length", head_dim_full);
    set("attention.value_length", head_dim_full);
    set("final_logit_softcapping", 30.0f);
    set("attention.sliding_window", window);
    set("attention.shared_kv_layers", shared);
    set("embedding_length_per_layer_input", ple);
    writer.set_array("gemma4.attention.sliding_window_pattern", sliding);
    set("attention.key_length_swa", head_dim_sliding);
    set("attention.value_length_swa", head_dim_sliding);
    set("rope.dimension_count", head_dim_full);
    set("rope.dimension_count_swa", head_dim_sliding);
  }
  void write_model_tensors(GgufWriter& writer) const {
    writer.add("rope_freqs.weight", {head_dim_full / 2});
    writer.add("token_embd.weight", {vocab, hidden}, type);
    if (ple > 0) {
      writer.add("per_layer_token_embd.weight", {vocab, layer_count() * ple}, type);
      writer.add("per_layer_model_proj.weight", {layer_count() * ple, hidden}, type);
      writer.add("per_layer_proj_norm.weight", {ple});
    }
    writer.add("output_norm.weight", {hidden});
  }
  void write_layer(GgufWriter& writer, size_t layer) const {
    const auto add = [&](const char* name, const std::vector<uint64_t>& shape) {
      writer.add("blk." + std::to_string(layer) + "." + name, shape, shape.size() == 1 ? DType::kF32 : type);
    };
    const uint64_t q_dim = heads * head_dim(layer), ffn_dim = owns(layer) ? ffn : ffn_shared;
    add("attn_norm.weight", {hidden});
    add("attn_q.weight", {q_dim, hidden});
    add("attn_q_norm.weight", {head_dim(layer)});
    if (owns(layer)) {
      add("attn_k.weight", {kv_dim(layer), hidden});
      add("attn_k_norm.weight", {head_dim(layer)});
      if (!(k_is_v && full(layer))) add("attn_v.weight", {kv_dim(layer), hidden});
    }
    add("attn_output.weight", {hidden, q_dim});
    add("post_attention_norm.weight", {hidden});
    add("ffn_norm.weight", {hidden});
    add("ffn_gate.weight", {ffn_dim, hidden});
    add("ffn_up.weight", {ffn_dim, hidden});
    add("ffn_down.weight", {hidden, ffn_dim});
    add("post_ffw_norm.weight", {hidden});
    if (experts > 0) {
      add("ffn_gate_inp.weight", {experts, hidden});
      add("ffn_gate_inp.scale", {hidden});
      for (const char* name : {"pre_ffw_norm_2.weight", "post_ffw_norm_1.weight", "post_ffw_norm_2.weight"})
        add(name, {hidden});
      add("ffn_gate_up_exps.weight", {experts, 2 * expert_ffn, hidden});
      add("ffn_down_exps.weight", {experts, hidden, expert_ffn});
      add("ffn_down_exps.scale", {experts});
    }
    if (ple > 0) {
      add("inp_gate.weight", {ple, hidden});
      add("proj.weight", {hidden, ple});
      add("post_norm.weight", {hidden});
    }
    add("layer_output_scale.weight", {1});
  }
};

inline TinyModel tiny_dense() {  // as 31B: no per-layer embeddings, nothing shared, K = V in full layers
  TinyModel model;
  model.pattern = "SSFSSF";
  model.shared = model.ple = 0;
  model.k_is_v = true;
  return model;
}
inline TinyModel tiny_mixture() {  // as 26B-A4B
  TinyModel model = tiny_dense();
  model.experts = 5;
  return model;
}
// The published sizes, with the tensor types of the official Q4_0 files.
inline TinyModel real_e2b() {
  TinyModel model;
  model.pattern.clear();
  for (int i = 0; i < 35; ++i) model.pattern += (i + 1) % 5 == 0 ? 'F' : 'S';
  model.hidden = 1536, model.heads = 8, model.kv_heads_sliding = 1, model.kv_heads_full = 1;
  model.head_dim_sliding = 256, model.head_dim_full = 512, model.ffn = 6144, model.ffn_shared = 12288;
  model.shared = 20, model.ple = 256, model.vocab = 262144, model.window = 512, model.type = DType::kQ4_0;
  return model;
}
inline TinyModel real_26b() {
  TinyModel model;
  model.pattern.clear();
  for (int i = 0; i < 30; ++i) model.pattern += (i + 1) % 6 == 0 ? 'F' : 'S';
  model.hidden = 2816, model.heads = 16, model.kv_heads_sliding = 8, model.kv_heads_full = 2;
  model.head_dim_sliding = 256, model.head_dim_full = 512, model.ffn = 2112, model.expert_ffn = 704;
  model.experts = 128, model.experts_used = 8, model.k_is_v = true;
  model.shared = 0, model.ple = 0, model.vocab = 262144, model.window = 1024, model.type = DType::kQ4_0;
  return model;
}
}  // namespace g4
