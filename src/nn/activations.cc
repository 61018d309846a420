#include "nn/activations.h"

#include <algorithm>

#include "kernels/table.h"
#include "nn/linear.h"

namespace g4 {
namespace {
// The largest sizes over all layers.
struct Maxima {
  size_t heads = 0, kv = 0, ffn = 0, half = 0;
};

Maxima maxima(const ModelConfig& c) {
  Maxima m;
  for (const LayerConfig& layer : c.layers) {
    const size_t head_dim = static_cast<size_t>(layer.head_dim);
    m.heads = std::max(m.heads, head_dim * static_cast<size_t>(c.head_count));
    m.kv = std::max(m.kv, head_dim * static_cast<size_t>(layer.kv_head_count));
    m.ffn = std::max(m.ffn, static_cast<size_t>(layer.ffn_dim));
    m.half = std::max(m.half, head_dim / 2);
  }
  m.ffn = std::max({m.ffn, static_cast<size_t>(c.expert_ffn_dim), static_cast<size_t>(c.ple_dim)});
  return m;
}

// Calls visit(buffer, element count) for every buffer: the one place that knows their sizes.
template <typename A, typename Visit>
void for_each_buffer(A& a, const ModelConfig& c, size_t rows, size_t workers, Visit visit) {
  const Maxima m = maxima(c);
  const size_t d = static_cast<size_t>(c.hidden_dim), x = static_cast<size_t>(c.expert_count),
               p = static_cast<size_t>(c.ple_dim);
  const size_t widest_input = std::max({d, m.heads, m.ffn});
  visit(a.x_TD, rows * d);
  visit(a.norm_TD, rows * d);
  visit(a.block_TD, rows * d);
  visit(a.q_THE, rows * m.heads);
  visit(a.kv_TKE, 2 * rows * m.kv);
  visit(a.attn_THE, rows * m.heads);
  visit(a.hidden_TF, rows * m.ffn);
  visit(a.embed_TD, p > 0 ? rows * d : 0);
  visit(a.ple_TLP, rows * c.layers.size() * p);
  visit(a.expert_TD, x > 0 ? rows * d : 0);
  visit(a.expert_in_TD, x > 0 ? rows * d : 0);
  visit(a.expert_out_TD, x > 0 ? rows * d : 0);
  visit(a.router_TX, rows * x);
  visit(a.cos_sliding_TE, rows * m.half);
  visit(a.sin_sliding_TE, rows * m.half);
  visit(a.cos_full_TE, rows * m.half);
  visit(a.sin_full_TE, rows * m.half);
  visit(a.quantised, rows * widest_input);
  visit(a.quantised_scale, rows * (widest_input / kActivationBlock));
  visit(a.quantised_sum, rows * (widest_input / kActivationBlock));
  visit(a.tile, workers * Activations::tile_floats(c));
}
}  // namespace

size_t Activations::tile_floats(const ModelConfig& config) {
  return kTokenBlock * std::max(2 * kRowBlock, static_cast<size_t>(config.ple_dim));
}

Status Activations::reserve(const ModelConfig& config, size_t rows, size_t workers) {
  Activations fresh;
  Status status;
  for_each_buffer(fresh, config, rows, workers, [&](auto& buffer, size_t count) {
    if (!status.ok()) return;
    auto made = std::remove_reference_t<decltype(buffer)>::create(count);
    if (made.ok())
      buffer = *std::move(made);
    else
      status = made.status();
  });
  G4_RETURN_IF_ERROR(status);
  fresh.row_capacity = rows;
  *this = std::move(fresh);
  return absl::OkStatus();
}

uint64_t Activations::estimate_bytes(const ModelConfig& config, size_t rows, size_t workers) {
  Activations none;
  uint64_t bytes = 0;
  for_each_buffer(none, config, rows, workers,
                  [&](auto& buffer, size_t count) { bytes += count * sizeof(buffer[0]); });
  return bytes;
}
}  // namespace g4
