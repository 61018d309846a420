#include "text/bpe.h"

#include <algorithm>
#include <functional>

namespace g4 {
MergeTable::MergeTable(size_t count) : by_pair_(count) { merges_.reserve(count); }

uint64_t MergeTable::pair_hash(int32_t left, int32_t right) {
  return mix_bits(static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right));
}

bool MergeTable::add(const Merge& merge, int32_t last, int32_t first, uint32_t* repeated) {
  *repeated = find(merge.left, merge.right);
  if (*repeated != kNone) return false;
  if (!by_pair_.insert(pair_hash(merge.left, merge.right), static_cast<uint32_t>(merges_.size())))
    return false;
  merges_.push_back(merge);
  const size_t bit = join_bit(last, first);
  joins_[bit / 64] |= uint64_t{1} << bit % 64;
  return true;
}

uint32_t MergeTable::find(int32_t left, int32_t right) const {
  return by_pair_.find(pair_hash(left, right), [&](uint32_t rank) {
    return merges_[rank].left == left && merges_[rank].right == right;
  });
}

void BpeEncoder::push(int32_t symbol) {
  if (!nodes_.empty() && !merges_.may_join(nodes_.back().id, symbol)) flush();
  const uint32_t i = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({symbol, i - 1, i + 1});
}

void BpeEncoder::flush() {
  if (nodes_.size() > 1) merge_all();
  for (const Node& node : nodes_)
    if (node.id != kDead) out_.push_back(node.id);
  nodes_.clear();
}

// The pair of this node and the one after it as a queue entry; kNoEntry if there is no merge for it.
uint64_t BpeEncoder::entry(uint32_t left) const {
  const uint32_t right = nodes_[left].next;
  if (right >= nodes_.size()) return kNoEntry;
  const uint32_t rank = merges_.find(nodes_[left].id, nodes_[right].id);
  return rank == MergeTable::kNone ? kNoEntry : uint64_t{rank} << 32 | left;
}

void BpeEncoder::offer(uint32_t left) {
  const uint64_t pair = entry(left);
  if (pair == kNoEntry) return;
  heap_.push_back(pair);
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  ++queue_operations_;
}

uint64_t BpeEncoder::pop() {
  ++queue_operations_;
  const bool from_heap =
      !heap_.empty() && (next_sorted_ == sorted_.size() || heap_.front() < sorted_[next_sorted_]);
  if (!from_heap) return next_sorted_ < sorted_.size() ? sorted_[next_sorted_++] : kNoEntry;
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  const uint64_t pair = heap_.back();
  heap_.pop_back();
  return pair;
}

void BpeEncoder::merge_all() {
  sorted_.clear();
  next_sorted_ = 0;
  for (uint32_t i = 0; i + 1 < nodes_.size(); ++i)
    if (const uint64_t pair = entry(i); pair != kNoEntry) sorted_.push_back(pair);
  std::sort(sorted_.begin(), sorted_.end());
  for (uint64_t pair; (pair = pop()) != kNoEntry;) {
    const MergeTable::Merge& merge = merges_[static_cast<uint32_t>(pair >> 32)];
    const uint32_t left = static_cast<uint32_t>(pair), right = nodes_[left].next;
    if (right >= nodes_.size() || nodes_[left].id != merge.left || nodes_[right].id != merge.right) continue;
    nodes_[left].id = merge.result;
    nodes_[left].next = nodes_[right].next;
    nodes_[right].id = kDead;
    if (nodes_[left].next < nodes_.size()) nodes_[nodes_[left].next].previous = left;
    if (left > 0) offer(nodes_[left].previous);
    offer(left);
  }
}
}  // namespace g4
