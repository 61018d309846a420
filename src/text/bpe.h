// Byte-pair encoding on token ids: the pair with the lowest rank is joined first, the leftmost of equals,
// until none is left.
#pragma once
#include <cstdint>
#include <vector>

#include "text/flat_index.h"

namespace g4 {
// The merges of a vocabulary by rank, and which symbols can ever end up in one token.
class MergeTable {
 public:
  struct Merge {
    int32_t left, right, result;
  };
  static constexpr uint32_t kNone = FlatIndex::kNone;

  MergeTable() = default;
  explicit MergeTable(size_t count);

  // Adds the merge of the next rank. `last` and `first` are the single-character tokens that end `left` and
  // begin `right`. False if its pair is there already, or FlatIndex refuses it; the rank of the earlier one
  // is in *repeated, else kNone.
  [[nodiscard]] bool add(const Merge& merge, int32_t last, int32_t first, uint32_t* repeated);

  void prefetch(int32_t left, int32_t right) const { by_pair_.prefetch(pair_hash(left, right)); }

  // Rank of the merge of this pair, or kNone.
  uint32_t find(int32_t left, int32_t right) const;
  const Merge& operator[](uint32_t rank) const { return merges_[rank]; }
  // False only if no token ever spans these two adjacent characters: the text on the two sides can be encoded
  // separately. This cuts ordinary text into words, which keeps the work small and in cache.
  bool may_join(int32_t first, int32_t second) const {
    const size_t bit = join_bit(first, second);
    return (joins_[bit / 64] >> bit % 64 & 1) != 0;
  }

 private:
  // A Bloom filter of one hash; the real vocabulary fills a few per cent of its 128 KiB.
  static constexpr size_t kJoinBits = size_t{1} << 20;
  static uint64_t pair_hash(int32_t left, int32_t right);
  static size_t join_bit(int32_t first, int32_t second) { return pair_hash(first, second) % kJoinBits; }

  std::vector<Merge> merges_;
  FlatIndex by_pair_;
  std::vector<uint64_t> joins_ = std::vector<uint64_t>(kJoinBits / 64);
};

// Encodes symbols as they come. Keeps its buffers from one piece to the next; the stack is flat, the time n
// log n, the memory 28 bytes a symbol of the longest piece.
class BpeEncoder {
 public:
  BpeEncoder(const MergeTable& merges, std::vector<int32_t>* out) : merges_(merges), out_(*out) {}
  // The next symbol: the token of one character, or a byte token.
  void push(int32_t symbol);
  // Ends the piece: what follows is not merged with what came before. Afterwards *out is complete.
  void flush();
  uint64_t queue_operations() const { return queue_operations_; }

 private:
  struct Node {
    int32_t id;  // kDead once it is part of its left neighbour
    uint32_t previous, next;
  };
  static constexpr int32_t kDead = -1;
  static constexpr uint64_t kNoEntry = UINT64_MAX;
  uint64_t entry(uint32_t left) const;
  void offer(uint32_t left);
  uint64_t pop();
  void merge_all();

  const MergeTable& merges_;
  std::vector<int32_t>& out_;
  std::vector<Node> nodes_;
  // The queue of pairs that can be merged: rank << 32 | index of the left node, smallest first. Entries whose
  // pair has changed since are skipped. Most are there from the start, sorted once and read in order; those
  // that arise from merges go through the heap.
  std::vector<uint64_t> sorted_, heap_;
  size_t next_sorted_ = 0;
  uint64_t queue_operations_ = 0;
};
}  // namespace g4
