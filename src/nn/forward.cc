#include "nn/forward.h"

#include <cmath>
#include <cstring>

#include "base/check.h"
#include "nn/rope.h"
#include "quant/packing.h"

namespace g4 {
namespace {
int head_dim_of(const ModelConfig& config, bool sliding) {
  for (const LayerConfig& layer : config.layers)
    if (layer.is_sliding == sliding) return layer.head_dim;
  return 0;
}
}  // namespace

Forward::Forward(const Network& network, const Kernels& kernels, Precision precision, ThreadPool& pool,
                 Activations& activations, const std::atomic<bool>& cancel)
    : net_(network),
      kernels_(kernels),
      pool_(pool),
      act_(activations),
      cancel_(cancel),
      linear_(kernels, precision, pool, activations, cancel),
      D_(static_cast<size_t>(network.config.hidden_dim)),
      rope_sliding_(
          rope_frequencies(network.config.rope_base_sliding, head_dim_of(network.config, true), {})),
      rope_full_(rope_frequencies(network.config.rope_base_full, head_dim_of(network.config, false),
                                  network.weights.rope_freqs)) {}

// The whole network (gemma4.md 2).
Status Forward::run(std::span<const Row> rows, std::span<uint64_t> layer_rows, const Tap* listener,
                    const PassProgress& progress) {
  G4_DCHECK(rows.size() <= act_.row_capacity);
  rows_.assign(rows.begin(), rows.end());
  tap_ = listener;
  const bool has_ple = net_.ple != nullptr;
  const int L = net_.config.layer_count(), last_owner = net_.config.first_shared_layer() - 1;

  embed();
  tap("embed", -1, act_.x_TD.data(), D_);
  for (int layer = 0; layer < L; ++layer) {
    norm_rows(act_.x_TD.data(), weights(layer).attn_norm, act_.norm_TD.data());
    const bool owns_kv = net_.config.owns_kv(layer), prunes = layer == last_owner;
    if (owns_kv) {
      project(layer, !prunes, true);
      write_kv(layer);
    }
    if (has_ple && layer == 0 && last_owner == 0) G4_RETURN_IF_ERROR(ple_identity());
    if (prunes) {
      // From here on no layer writes K or V: a row whose output nobody reads is done (performance.md 3.1).
      keep_wanted_rows();
      if (T() == 0) break;
      if (has_ple) ple_context(last_owner, L);
      tap("ple", -1, act_.ple_TLP.data(), ple_width());
    }
    if (prunes || !owns_kv) project(layer, true, false);
    attention(layer);
    feed_forward(layer);
    if (has_ple && layer == 0 && last_owner > 0) {  // asked for in embed(): by now they are here
      G4_RETURN_IF_ERROR(ple_identity());
      ple_context(0, last_owner);
    }
    if (has_ple) ple_gate(layer);
    for_rows([&](size_t t) { kernels_.scale(act_.x_TD.data() + t * D_, weights(layer).output_scale, D_); });
    layer_rows[static_cast<size_t>(layer)] += T();
    tap("layer", layer, act_.x_TD.data(), D_);
    if (cancelled()) return cancelled_error();
    if (progress && layer < last_owner && !progress(layer + 1, last_owner + 1)) return cancelled_error();
  }
  if (T() > 0) logits();
  return cancelled() ? cancelled_error() : absl::OkStatus();
}

// x = embedding · sqrt(D), that of media without the factor, and the angles of all positions.
void Forward::embed() {
  if (net_.ple != nullptr) {
    tokens_.resize(T());
    for (size_t t = 0; t < T(); ++t) tokens_[t] = rows_[t].token;
    net_.ple->prefetch(tokens_);
  }
  for_rows([&](size_t t) {
    float* x = act_.x_TD.data() + t * D_;
    if (rows_[t].embedding != nullptr) {
      std::memcpy(x, rows_[t].embedding, D_ * sizeof(float));
    } else {
      decode_row(net_.weights.token_embd, static_cast<size_t>(rows_[t].token), x);
      kernels_.scale(x, std::sqrt(static_cast<float>(D_)), D_);
    }
    if (net_.ple != nullptr) std::memcpy(act_.embed_TD.data() + t * D_, x, D_ * sizeof(float));
    rope_angles(rows_[t].position, rope_sliding_, act_.cos_sliding_TE.data() + t * rope_sliding_.size(),
                act_.sin_sliding_TE.data() + t * rope_sliding_.size());
    rope_angles(rows_[t].position, rope_full_, act_.cos_full_TE.data() + t * rope_full_.size(),
                act_.sin_full_TE.data() + t * rope_full_.size());
  });
}

// Closes the gaps that the rows nobody reads leave, in every buffer that is still needed.
void Forward::keep_wanted_rows() {
  size_t kept = 0;
  for (size_t t = 0; t < rows_.size(); ++t) {
    if (rows_[t].logits == nullptr) continue;
    if (kept != t) {
      rows_[kept] = rows_[t];
      const auto move_row = [&](AlignedBuffer<float>& buffer, size_t width) {
        std::memcpy(buffer.data() + kept * width, buffer.data() + t * width, width * sizeof(float));
      };
      move_row(act_.x_TD, D_);
      move_row(act_.norm_TD, D_);
      move_row(act_.cos_sliding_TE, rope_sliding_.size());
      move_row(act_.sin_sliding_TE, rope_sliding_.size());
      move_row(act_.cos_full_TE, rope_full_.size());
      move_row(act_.sin_full_TE, rope_full_.size());
      if (net_.ple != nullptr) {
        move_row(act_.embed_TD, D_);
        move_row(act_.ple_TLP, ple_width());
      }
    }
    ++kept;
  }
  rows_.resize(kept);
}

// logits = softcap(output · norm(x)), in blocks that go straight to where they are wanted.
void Forward::logits() {
  norm_rows(act_.x_TD.data(), net_.weights.output_norm, act_.norm_TD.data());
  tap("final_norm", -1, act_.norm_TD.data(), D_);
  linear_.set_input(act_.norm_TD.data(), T(), D_);
  linear_.blocks(net_.weights.output, [&](float* tile, size_t n, size_t n_count, size_t t, size_t t_count) {
    if (net_.config.logit_softcap > 0) kernels_.softcap(tile, net_.config.logit_softcap, n_count * t_count);
    for (size_t i = 0; i < t_count; ++i)
      std::memcpy(rows_[t + i].logits + n, tile + i * n_count, n_count * sizeof(float));
  });
}

void Forward::norm_rows(const float* x, Vector weight, float* out) {
  for_rows([&](size_t t) {
    kernels_.rms_norm(x + t * D_, weight.data(), net_.config.norm_eps, D_, out + t * D_);
  });
}

void Forward::add_normed_block(Vector weight) {
  for_rows([&](size_t t) {
    float* block = act_.block_TD.data() + t * D_;
    kernels_.rms_norm(block, weight.data(), net_.config.norm_eps, D_, block);
    kernels_.add(act_.x_TD.data() + t * D_, block, D_);
  });
}
}  // namespace g4
