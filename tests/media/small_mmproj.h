// An mmproj file of the smallest sizes, for tests of what can be wrong with one.
#pragma once
#include <string>

#include "tests/support/gguf_writer.h"

namespace g4 {
inline constexpr int kSmallTextDim = 8;

inline GgufWriter small_mmproj() {
  constexpr uint64_t H = 8, F = 16, E = 4, outputs = 6, channels = 4, positions = 32;
  GgufWriter file;
  file.set("general.architecture", std::string("clip"));
  for (const char* tower : {"vision", "audio"}) {
    const std::string prefix = std::string("clip.") + tower + ".";
    file.set(std::string("clip.has_") + tower + "_encoder", true);
    file.set(prefix + "embedding_length", static_cast<uint32_t>(H));
    file.set(prefix + "feed_forward_length", static_cast<uint32_t>(F));
    file.set(prefix + "attention.head_count", uint32_t{2});
    file.set(prefix + "attention.layer_norm_epsilon", 1e-6f);
    file.set(prefix + "block_count", uint32_t{1});
  }
  file.set("clip.vision.projector_type", std::string("gemma4v"));
  file.set("clip.audio.projector_type", std::string("gemma4a"));
  file.set("clip.vision.patch_size", uint32_t{16});
  file.set("clip.audio.num_mel_bins", uint32_t{128});
  const auto add = [&](const std::string& name, const std::vector<uint64_t>& shape) {
    file.add(name + ".weight", shape);
  };
  add("v.patch_embd", {H, 3, 16, 16});
  add("v.position_embd", {2, positions, H});
  add("mm.input_projection", {kSmallTextDim, H});
  for (const char* name : {"ln1", "ln2", "attn_post_norm", "ffn_post_norm"})
    add(std::string("v.blk.0.") + name, {H});
  for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_out"})
    add(std::string("v.blk.0.") + name, {H, H});
  for (const char* name : {"attn_q_norm", "attn_k_norm"}) add(std::string("v.blk.0.") + name, {E});
  for (const char* name : {"ffn_gate", "ffn_up"}) add(std::string("v.blk.0.") + name, {F, H});
  add("v.blk.0.ffn_down", {H, F});
  add("a.conv1d.0", {channels, 1, 3, 3});
  add("a.conv1d.0.norm", {channels});
  add("a.conv1d.1", {channels, channels, 3, 3});
  add("a.conv1d.1.norm", {channels});
  add("a.input_projection", {H, 32 * channels});
  add("a.pre_encode.out", {outputs, H});
  file.add("a.pre_encode.out.bias", {outputs});
  add("mm.a.input_projection", {kSmallTextDim, outputs});
  for (const char* name : {"ffn_norm", "ffn_norm_1", "ffn_post_norm", "ffn_post_norm_1", "attn_pre_norm",
                           "attn_post_norm", "conv_norm", "norm_conv", "ln2"})
    add(std::string("a.blk.0.") + name, {H});
  for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_k_rel", "attn_out", "conv_pw2"})
    add(std::string("a.blk.0.") + name, {H, H});
  for (const char* end : {"", "_1"}) {
    add(std::string("a.blk.0.ffn_up") + end, {F, H});
    add(std::string("a.blk.0.ffn_down") + end, {H, F});
  }
  add("a.blk.0.per_dim_scale", {E});
  add("a.blk.0.conv_pw1", {2 * H, H});
  add("a.blk.0.conv_dw", {H, 5});
  file.add("v.blk.0.attn_q.input_min", {1}, DType::kF32, bytes_of(-1.0f));
  file.add("v.blk.0.attn_q.input_max", {1}, DType::kF32, bytes_of(1.0f));
  return file;
}
}  // namespace g4
