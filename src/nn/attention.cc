// Attention (gemma4.md 2, steps 2 to 5): grouped queries over pages of keys and values, scale 1.
#include <algorithm>
#include <cstring>
#include <limits>

#include "nn/forward.h"

namespace g4 {
namespace {
constexpr size_t kHeadsPerTask = 4;  // query heads of one KV head that share its pages in one task
}

// K and V of all rows, from norm_TD, into the stores.
void Forward::write_kv(int layer) {
  const LayerWeights& w = weights(layer);
  const size_t heads = static_cast<size_t>(config(layer).kv_head_count),
               E = static_cast<size_t>(config(layer).head_dim);
  const bool sliding = config(layer).is_sliding;
  float* k_TKE = act_.kv_TKE.data();
  float* v_TKE = k_TKE + T() * heads * E;
  linear_.set_input(act_.norm_TD.data(), T(), D_);
  linear_.product(w.attn_k, k_TKE);
  if (!w.attn_v.empty()) linear_.product(w.attn_v, v_TKE);

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

// x += norm(Wo · attention(Wq · norm_TD))
void Forward::attention(int layer) {
  const LayerWeights& w = weights(layer);
  const size_t heads = static_cast<size_t>(net_.config.head_count),
               E = static_cast<size_t>(config(layer).head_dim);
  const size_t group = heads / static_cast<size_t>(config(layer).kv_head_count);
  linear_.set_input(act_.norm_TD.data(), T(), D_);
  linear_.product(w.attn_q, act_.q_THE.data());

  const size_t task_heads = std::min(group, kHeadsPerTask),
               tasks_per_group = (group + task_heads - 1) / task_heads;
  const size_t tasks_per_row = heads / group * tasks_per_group;
  pool_.parallel_for(T() * tasks_per_row, 1, [&](size_t begin, size_t end) {
    for (size_t task = begin; task < end && !cancelled(); ++task) {
      const size_t t = task / tasks_per_row, kv_head = task % tasks_per_row / tasks_per_group,
                   part = task % tasks_per_group;
      const size_t first = kv_head * group + part * task_heads;
      attend(rows_[t], t, layer, first, std::min(first + task_heads, (kv_head + 1) * group));
    }
  });

  linear_.set_input(act_.attn_THE.data(), T(), heads * E);
  linear_.product(w.attn_output, act_.block_TD.data());
  add_normed_block(w.post_attention_norm);
}

// Query heads [head_begin, head_end) of one row, all of one KV head, over the pages they see.
void Forward::attend(const Row& row, size_t t, int layer, size_t head_begin, size_t head_end) {
  const KvLayer& kv = net_.kv_meta[layer];
  const size_t E = static_cast<size_t>(kv.head_dim), heads = static_cast<size_t>(net_.config.head_count);
  const size_t count = head_end - head_begin, group = heads / static_cast<size_t>(kv.kv_head_count);
  const int kv_head = static_cast<int>(head_begin / group);
  float* q = act_.q_THE.data() + (t * heads + head_begin) * E;
  float* out = act_.attn_THE.data() + (t * heads + head_begin) * E;
  const float* cos = (kv.is_sliding ? act_.cos_sliding_TE : act_.cos_full_TE).data() + t * (E / 2);
  const float* sin = (kv.is_sliding ? act_.sin_sliding_TE : act_.sin_full_TE).data() + t * (E / 2);
  SoftmaxState state[kHeadsPerTask];
  for (size_t head = 0; head < count; ++head) {
    kernels_.rms_norm(q + head * E, weights(layer).attn_q_norm.data(), net_.config.norm_eps, E, q + head * E);
    kernels_.rope(q + head * E, cos, sin, E / 2);
    state[head] = {-std::numeric_limits<float>::infinity(), 0};
  }
  std::memset(out, 0, count * E * sizeof(float));

  const int first = kv.window == 0 ? 0 : std::max(0, row.position - kv.window + 1);
  const int last = kv.is_sliding ? std::max(row.position, row.seen_until - 1) : row.position;
  for (int page = first / kPagePositions; page <= last / kPagePositions; ++page) {
    const int start = page * kPagePositions;
    kernels_.attend_page[static_cast<size_t>(row.kv->type())](
        q, count, E, row.kv->k_page(kv.source_layer, page, kv_head),
        row.kv->v_page(kv.source_layer, page, kv_head), std::max(first - start, 0),
        std::min(last - start + 1, kPagePositions), state, out);
  }
  for (size_t head = 0; head < count; ++head) kernels_.scale(out + head * E, 1.0f / state[head].sum, E);
}
}  // namespace g4
