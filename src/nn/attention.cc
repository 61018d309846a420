// Attention (gemma4.md 2, steps 2 to 5): grouped queries over pages of keys and values, scale 1.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "nn/forward.h"

namespace g4 {
namespace {
constexpr size_t kHeadsPerTask = 8, kRowsPerTask = 8;
}

// From norm_TD, in one step: q_THE if `query`, K and V in kv_TKE if `key_value`.
void Forward::project(int layer, bool query, bool key_value) {
  const LayerWeights& w = weights(layer);
  float* k_TKE = act_.kv_TKE.data();
  const Linear::Product all[] = {
      {&w.attn_q, act_.q_THE.data()}, {&w.attn_k, k_TKE}, {&w.attn_v, k_TKE + T() * w.attn_k.rows}};
  const size_t key_value_count = w.attn_v.empty() ? 1 : 2;
  linear_.set_input(act_.norm_TD.data(), T(), D_);
  linear_.products(
      std::span(all).subspan(query ? 0 : 1, (query ? 1 : 0) + (key_value ? key_value_count : 0)));
}

// The K and V that project() made, normed and rotated, into the stores.
void Forward::write_kv(int layer) {
  const LayerWeights& w = weights(layer);
  const size_t heads = static_cast<size_t>(config(layer).kv_head_count),
               E = static_cast<size_t>(config(layer).head_dim);
  const bool sliding = config(layer).is_sliding;
  float* k_TKE = act_.kv_TKE.data();
  float* v_TKE = k_TKE + T() * heads * E;
  const float* cos = sliding ? act_.cos_sliding_TE.data() : act_.cos_full_TE.data();
  const float* sin = sliding ? act_.sin_sliding_TE.data() : act_.sin_full_TE.data();
  for_rows([&](size_t t) {
    KvStore& kv = *rows_[t].kv;
    const auto store = kernels_.store_kv[static_cast<size_t>(kv.type())];
    for (size_t head = 0; head < heads; ++head) {
      float* k = k_TKE + (t * heads + head) * E;
      float* v = v_TKE + (t * heads + head) * E;
      const float* raw_v =
          w.attn_v.empty() ? k : v;  // K = V layers take the raw keys, before norm and rotation
      kernels_.rms_norm(raw_v, nullptr, net_.config.norm_eps, E, v);
      kernels_.rms_norm(k, w.attn_k_norm.data(), net_.config.norm_eps, E, k);
      kernels_.rope(k, cos + t * (E / 2), sin + t * (E / 2), E / 2);
      store(k, E, kv.k_row(layer, rows_[t].position, static_cast<int>(head)));
      store(v, E, kv.v_row(layer, rows_[t].position, static_cast<int>(head)));
    }
  });
}

// x += norm(Wo · attention(q_THE))
void Forward::attention(int layer) {
  const LayerWeights& w = weights(layer);
  const size_t heads = static_cast<size_t>(net_.config.head_count),
               E = static_cast<size_t>(config(layer).head_dim);
  const size_t group = heads / static_cast<size_t>(config(layer).kv_head_count);

  // A task is some query heads of one KV head in some rows that follow one another in a session: the more,
  // the fewer times their keys and values are read.
  tiles_.clear();
  for (size_t t = 0; t < T(); ++t)
    if (t > 0 && rows_[t].kv == rows_[t - 1].kv && t - tiles_.back().begin < kRowsPerTask)
      ++tiles_.back().end;
    else
      tiles_.push_back({t, t + 1});
  const bool few = tiles_.size() * (heads / group) < 2 * static_cast<size_t>(pool_.size());
  const size_t task_heads = std::min(group, few ? kHeadsPerTask / 2 : kHeadsPerTask),
               parts = (group + task_heads - 1) / task_heads, tasks_per_tile = heads / group * parts;
  const auto run_task = [&](int, size_t task) {
    if (cancelled()) return;
    const size_t kv_head = task % tasks_per_tile / parts, part = task % parts;
    const size_t first = kv_head * group + part * task_heads;
    attend(tiles_[task / tasks_per_tile], layer, first, std::min(first + task_heads, (kv_head + 1) * group));
  };
  const int window = net_.kv_meta[layer].window, position = rows_[T() - 1].position;
  const size_t seen = static_cast<size_t>(window == 0 ? position : std::min(window, position)) + 1;
  const size_t tasks = tiles_.size() * tasks_per_tile;
  if (2 * T() * seen * heads * E >= kLeastShared)
    pool_.for_each(tasks, run_task);
  else
    for (size_t task = 0; task < tasks; ++task) run_task(0, task);

  linear_.set_input(act_.attn_THE.data(), T(), heads * E);
  linear_.product(w.attn_output, act_.block_TD.data());
  add_normed_block(w.post_attention_norm);
}

// Query heads [head_begin, head_end), all of one KV head, of the rows of a tile, over the pages they see.
void Forward::attend(const Tile& tile, int layer, size_t head_begin, size_t head_end) {
  const KvLayer& kv = net_.kv_meta[layer];
  const KvStore& store = *rows_[tile.begin].kv;
  const size_t E = static_cast<size_t>(kv.head_dim), heads = static_cast<size_t>(net_.config.head_count);
  const size_t count = head_end - head_begin;
  const int kv_head = static_cast<int>(head_begin / (heads / static_cast<size_t>(kv.kv_head_count)));
  const float* cos_TE = (kv.is_sliding ? act_.cos_sliding_TE : act_.cos_full_TE).data();
  const float* sin_TE = (kv.is_sliding ? act_.sin_sliding_TE : act_.sin_full_TE).data();
  const float* queries[kRowsPerTask * kHeadsPerTask];
  float* outs[kRowsPerTask * kHeadsPerTask];
  SoftmaxState states[kRowsPerTask * kHeadsPerTask];
  for (size_t t = tile.begin; t < tile.end; ++t)
    for (size_t head = head_begin; head < head_end; ++head) {
      const size_t i = (t - tile.begin) * count + head - head_begin;
      float* q = act_.q_THE.data() + (t * heads + head) * E;
      kernels_.rms_norm(q, weights(layer).attn_q_norm.data(), net_.config.norm_eps, E, q);
      kernels_.rope(q, cos_TE + t * (E / 2), sin_TE + t * (E / 2), E / 2);
      queries[i] = q;
      outs[i] = act_.attn_THE.data() + (t * heads + head) * E;
      states[i] = {-std::numeric_limits<float>::infinity(), 0};
      std::memset(outs[i], 0, E * sizeof(float));
    }

  // Positions of a page that a row sees. Rows that see the same share the page.
  const auto last_seen = [&](size_t t) {
    return kv.is_sliding ? std::max(rows_[t].position, rows_[t].seen_until - 1) : rows_[t].position;
  };
  const auto first_seen = [&](size_t t) {
    return kv.window == 0 ? 0 : std::max(0, rows_[t].position - kv.window + 1);
  };
  const auto seen = [&](size_t t, int page) {
    const int start = page * kPagePositions;
    return std::pair(std::max(first_seen(t) - start, 0), std::min(last_seen(t) - start + 1, kPagePositions));
  };
  int newest = 0;
  for (size_t t = tile.begin; t < tile.end; ++t) newest = std::max(newest, last_seen(t));
  for (int page = first_seen(tile.begin) / kPagePositions; page <= newest / kPagePositions; ++page) {
    for (size_t t = tile.begin, next; t < tile.end; t = next) {
      const auto [begin, end] = seen(t, page);
      for (next = t + 1; next < tile.end && seen(next, page) == std::pair(begin, end);) ++next;
      const size_t i = (t - tile.begin) * count;
      kernels_.attend_page[static_cast<size_t>(store.type())](
          queries + i, (next - t) * count, E, store.k_page(kv.source_layer, page, kv_head),
          store.v_page(kv.source_layer, page, kv_head), begin, end, states + i, outs + i);
    }
  }
  for (size_t i = 0; i < (tile.end - tile.begin) * count; ++i)
    kernels_.scale(outs[i], 1.0f / states[i].sum, E);
}
}  // namespace g4
