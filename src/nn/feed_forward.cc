// Feed-forward (gemma4.md 2, steps 6 and 7): dense, or dense and a mixture of experts in parallel.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "nn/forward.h"

namespace g4 {
void Forward::feed_forward(int layer) {
  const LayerWeights& w = weights(layer);
  norm_rows(act_.x_TD.data(), w.ffn_norm, act_.norm_TD.data());
  linear_.set_input(act_.norm_TD.data(), T(), D_);
  linear_.gated_product(w.ffn_gate, w.ffn_up, act_.hidden_TF.data());
  linear_.set_input(act_.hidden_TF.data(), T(), w.ffn_down.cols);
  linear_.product(w.ffn_down, act_.block_TD.data());
  if (!w.router.empty()) mixture_of_experts(layer);
  add_normed_block(w.post_ffw_norm);
}

// block = norm(block) + norm(sum of the chosen experts' outputs). Rows are gathered per expert, so that an
// expert's weights are read once; a row's experts are added in the order of their numbers, whatever else is
// in the batch.
void Forward::mixture_of_experts(int layer) {
  const LayerWeights& w = weights(layer);
  const size_t used = static_cast<size_t>(net_.config.expert_used_count), F = w.expert_down.first.cols;
  norm_rows(act_.block_TD.data(), w.post_ffw_norm_1, act_.block_TD.data());
  route(layer);

  norm_rows(act_.x_TD.data(), w.pre_ffw_norm_2, act_.norm_TD.data());
  std::memset(act_.expert_TD.data(), 0, T() * D_ * sizeof(float));
  for (size_t begin = 0; begin < T() * used && !cancelled();) {
    const int expert = choices_[begin].expert;
    size_t end = begin;
    for (; end < T() * used && choices_[end].expert == expert; ++end)
      std::memcpy(act_.expert_in_TD.data() + (end - begin) * D_, act_.norm_TD.data() + choices_[end].row * D_,
                  D_ * sizeof(float));
    const size_t gate = 2 * static_cast<size_t>(expert);
    linear_.set_input(act_.expert_in_TD.data(), end - begin, D_);
    linear_.gated_product(w.expert_gate_up[gate], w.expert_gate_up[gate + 1], act_.hidden_TF.data());
    linear_.set_input(act_.hidden_TF.data(), end - begin, F);
    linear_.product(w.expert_down[static_cast<size_t>(expert)], act_.expert_out_TD.data());
    for (size_t i = begin; i < end; ++i) {
      float* out = act_.expert_out_TD.data() + (i - begin) * D_;
      kernels_.scale(out, choices_[i].weight, D_);
      kernels_.add(act_.expert_TD.data() + choices_[i].row * D_, out, D_);
    }
    begin = end;
  }
  norm_rows(act_.expert_TD.data(), w.post_ffw_norm_2, act_.expert_TD.data());
  for_rows(
      [&](size_t t) { kernels_.add(act_.block_TD.data() + t * D_, act_.expert_TD.data() + t * D_, D_); });
}

// The best experts of every row, sorted by expert, then row.
void Forward::route(int layer) {
  const LayerWeights& w = weights(layer);
  const size_t X = w.router.rows, used = static_cast<size_t>(net_.config.expert_used_count);
  const float scale = 1.0f / std::sqrt(static_cast<float>(D_));
  for_rows([&](size_t t) {
    float* r = act_.norm_TD.data() + t * D_;
    kernels_.rms_norm(act_.x_TD.data() + t * D_, w.router_scale.data(), net_.config.norm_eps, D_, r);
    kernels_.scale(r, scale, D_);
  });
  linear_.set_input(act_.norm_TD.data(), T(), D_);
  linear_.product(w.router, act_.router_TX.data());
  tap("router", layer, act_.router_TX.data(), X);
  choices_.resize(T() * used);
  order_.resize(X);
  for (size_t t = 0; t < T(); ++t) {
    const float* s = act_.router_TX.data() + t * X;
    const auto better = [s](int a, int b) { return s[a] > s[b] || (s[a] == s[b] && a < b); };
    std::iota(order_.begin(), order_.end(), 0);
    std::partial_sort(order_.begin(), order_.begin() + static_cast<ptrdiff_t>(used), order_.end(), better);
    // Softmax over all experts, renormalised over the chosen: the softmax over the chosen ones alone.
    float sum = 0;
    for (size_t i = 0; i < used; ++i) sum += std::exp(s[order_[i]] - s[order_[0]]);
    for (size_t i = 0; i < used; ++i) {
      const float weight =
          std::exp(s[order_[i]] - s[order_[0]]) / sum * w.expert_scale[static_cast<size_t>(order_[i])];
      choices_[t * used + i] = {order_[i], static_cast<uint32_t>(t), weight};
    }
  }
  std::sort(choices_.begin(), choices_.end(), [](const Choice& a, const Choice& b) {
    return a.expert != b.expert ? a.expert < b.expert : a.row < b.row;
  });
}
}  // namespace g4
