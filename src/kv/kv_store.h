// The keys and values of one session, in pages of kPagePositions positions that start at multiples of it. A
// full layer keeps all its pages; a sliding layer keeps those its window and the rewind margin still reach, a
// ring whose memory does not grow with the context. Pages are shared between forks and copied by whoever
// writes first.
//
// Because pages start at fixed positions, attention always sums over the same blocks, however the tokens came
// in.
#pragma once
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/status.h"
#include "kernels/table.h"
#include "kv/kv_meta.h"
#include "kv/page.h"

namespace g4 {
// Positions a sliding layer keeps beyond its window, for exact rewinds; fewer at a mark, of which there are
// many.
inline constexpr int kRewindMargin = 256, kMarkMargin = 32;
inline constexpr size_t kMaxMarks = 8;

class KvStore {
 public:
  // meta must outlive the store.
  KvStore(const KvMeta& meta, KvType type, int rewind_margin = kRewindMargin);

  KvType type() const { return type_; }
  int position() const { return position_; }
  // Shares all pages; both stores go on independently. O(pages).
  KvStore fork() const { return *this; }

  // An append: begin(), then for each step prepare_step and the writes, then commit(); or rollback() for a
  // store as before begin().
  void begin_append() { append_start_ = position_; }
  // Makes positions [position(), position() + count) writable in every layer and moves position() past them.
  // Sliding pages that no row of this or a later step can see are set aside. Errors: memory (then only
  // rollback may follow).
  Status prepare_step(int count);
  void commit();
  void rollback();

  // Keeps the rings as they are now, so that truncate(position()) stays exact later. Shares the pages; the
  // oldest of kMaxMarks goes.
  void mark();
  // Forgets all from `position` on; exact where nearest_exact(position) == position.
  void truncate(int position);
  // The highest position up to `position` at which truncate is exact: within the rings, at or just before a
  // mark, or 0.
  int nearest_exact(int position) const;
  // truncate is exact at every position from here to position().
  int rewind_min() const;

  // All pages of an owning layer that hold positions below position(): the whole state. For saving.
  struct LayerPages {
    int first_page = 0;
    std::vector<PageRef> pages;
  };
  LayerPages layer_pages(int layer) const;
  // A store of these pages, one entry per owning layer, at `position`. Each layer has the pages its window
  // needs, each of page_bytes().
  static KvStore from_pages(const KvMeta& meta, KvType type, int rewind_margin, int position,
                            std::vector<LayerPages> layers);
  // Pages [first, last) that a layer must have at `position` for going on exactly.
  std::pair<int, int> needed_pages(int layer, int position) const;
  size_t page_bytes(int layer) const;

  // Rows [E] of one position and head, in an owning layer. Writable between prepare_step and commit.
  uint8_t* k_row(int layer, int position, int head);
  uint8_t* v_row(int layer, int position, int head);
  // Rows of all positions of a page, [kPagePositions, E]. The page holds what the window reaches.
  const uint8_t* k_page(int layer, int page, int head) const;
  const uint8_t* v_page(int layer, int page, int head) const;

  uint64_t size_bytes() const;  // all pages held, those of marks and those shared with forks too
  // Bytes the pages take at most when `context` positions are held and a step takes up to `step` of them, all
  // marks in use.
  static uint64_t full_size_bytes(const KvMeta& meta, KvType type, int rewind_margin, int context, int step);

 private:
  struct Layer {
    std::deque<PageRef> pages;  // pages first_page, first_page + 1, ...
    int first_page = 0;
    std::vector<PageRef> set_aside;  // dropped since begin_append, in order: rollback puts them back
  };
  // The rings of the sliding layers at a position; full layers have no entry of their own.
  struct Mark {
    int position;
    std::vector<Layer> layers;
  };
  const KvLayer& meta(int layer) const { return (*meta_)[layer]; }
  size_t row_offset(int layer, int row, int head, bool value) const;
  // The first page that a row at `position` or later can see, or one up to `margin` positions before it.
  int first_needed_page(int layer, int position, int margin) const;
  // The lowest position at which rings that begin like these, reaching up to `position`, can go on.
  int lowest_exact(const std::vector<Layer>& layers, int position) const;
  Status make_writable(Layer& layer, int index, int page);

  const KvMeta* meta_;
  KvType type_;
  int rewind_margin_;
  int position_ = 0;
  int append_start_ = 0;
  std::vector<Layer> layers_;  // owning layers
  std::deque<Mark> marks_;     // by position, ascending; none beyond position_
};
}  // namespace g4
