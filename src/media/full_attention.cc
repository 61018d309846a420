#include "media/full_attention.h"

#include <algorithm>
#include <limits>

namespace g4 {
namespace {
// The scores of a block stay in the second-level cache. A multiple of all lanes; of the tokens of a tile.
constexpr size_t kKeyBlock = 256, kQueryBlock = 96;

size_t round_up(size_t count, size_t unit) { return (count + unit - 1) / unit * unit; }
}  // namespace

FullAttention::FullAttention(const MediaCompute& compute, size_t T, size_t heads, size_t E)
    : compute_(compute),
      T_(T),
      heads_(heads),
      E_(E),
      lanes_(compute.kernels.lanes),
      key_floats_(round_up(T, lanes_) * E),
      value_floats_(round_up(T, kKeyBlock) * round_up(E, lanes_)) {}

Status FullAttention::reserve() {
  G4_ASSIGN_OR_RETURN(keys_, AlignedBuffer<float>::create(heads_ * key_floats_));
  G4_ASSIGN_OR_RETURN(values_, AlignedBuffer<float>::create(heads_ * value_floats_));
  G4_ASSIGN_OR_RETURN(scratch_, AlignedBuffer<float>::create(static_cast<size_t>(compute_.pool.size()) *
                                                             kQueryBlock * (kKeyBlock + E_)));
  // What fills up the last groups counts for nothing, but must be a number.
  std::fill_n(keys_.data(), keys_.size(), 0.0f);
  std::fill_n(values_.data(), values_.size(), 0.0f);
  return absl::OkStatus();
}

void FullAttention::set_key(size_t head, size_t t, const float* k) {
  float* out = keys_.data() + head * key_floats_ + t / lanes_ * lanes_ * E_ + t % lanes_;
  for (size_t e = 0; e < E_; ++e) out[e * lanes_] = k[e];
}

void FullAttention::set_value(size_t head, size_t t, const float* v) {
  const size_t block = t / kKeyBlock * kKeyBlock, columns = std::min(kKeyBlock, T_ - block);
  float* out = values_.data() + head * value_floats_ + block * round_up(E_, lanes_);
  for (size_t e = 0; e < E_; ++e)
    out[e / lanes_ * lanes_ * columns + (t - block) * lanes_ + e % lanes_] = v[e];
}

void FullAttention::attend(const float* q_HTE, float* out_THE) {
  const size_t blocks = (T_ + kQueryBlock - 1) / kQueryBlock;
  compute_.pool.for_each(heads_ * blocks, [&](int worker, size_t task) {
    const size_t begin = task % blocks * kQueryBlock;
    if (!compute_.cancel.load(std::memory_order_relaxed))
      attend_block(worker, task / blocks, begin, std::min(begin + kQueryBlock, T_), q_HTE, out_THE);
  });
}

void FullAttention::attend_block(int worker, size_t head, size_t begin, size_t end, const float* q_HTE,
                                 float* out_THE) {
  const Kernels& kernels = compute_.kernels;
  const auto multiply = kernels.matmul_f32[static_cast<size_t>(DType::kF32)];
  const auto packed = [](const float* matrix) { return reinterpret_cast<const uint8_t*>(matrix); };
  const size_t count = end - begin;
  float* scores = scratch_.data() + static_cast<size_t>(worker) * kQueryBlock * (kKeyBlock + E_);
  float* block_out = scores + kQueryBlock * kKeyBlock;
  const auto out = [&](size_t i) { return out_THE + ((begin + i) * heads_ + head) * E_; };
  SoftmaxState state[kQueryBlock];
  std::fill_n(state, count, SoftmaxState{-std::numeric_limits<float>::infinity(), 0});
  for (size_t i = 0; i < count; ++i) std::fill_n(out(i), E_, 0.0f);
  for (size_t block = 0; block < T_; block += kKeyBlock) {
    const size_t columns = std::min(kKeyBlock, T_ - block);
    multiply(packed(keys_.data() + head * key_floats_ + block * E_), columns, E_,
             q_HTE + (head * T_ + begin) * E_, E_, count, scores, kKeyBlock);
    float kept[kQueryBlock];
    for (size_t i = 0; i < count; ++i) kept[i] = kernels.softmax(scores + i * kKeyBlock, columns, &state[i]);
    multiply(packed(values_.data() + head * value_floats_ + block * round_up(E_, lanes_)), E_, columns,
             scores, kKeyBlock, count, block_out, E_);
    for (size_t i = 0; i < count; ++i) {
      kernels.scale(out(i), kept[i], E_);
      kernels.add(out(i), block_out + i * E_, E_);
    }
  }
  for (size_t i = 0; i < count; ++i) kernels.scale(out(i), 1.0f / state[i].sum, E_);
}
}  // namespace g4
