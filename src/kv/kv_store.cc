#include "kv/kv_store.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/check.h"

namespace g4 {
namespace {
int page_count(int positions) { return (positions + kPagePositions - 1) / kPagePositions; }
}  // namespace

KvStore::KvStore(const KvMeta& meta, KvType type, int rewind_margin)
    : meta_(&meta),
      type_(type),
      rewind_margin_(rewind_margin),
      layers_(static_cast<size_t>(meta.owner_count())) {}

size_t KvStore::page_bytes(int layer) const {
  return 2 * static_cast<size_t>(meta(layer).kv_head_count) * kPagePositions *
         kv_row_bytes(type_, static_cast<size_t>(meta(layer).head_dim));
}

// A page is [K or V, head, position, E].
size_t KvStore::row_offset(int layer, int row, int head, bool value) const {
  const KvLayer& m = meta(layer);
  const size_t head_index = static_cast<size_t>((value ? m.kv_head_count : 0) + head);
  return (head_index * kPagePositions + static_cast<size_t>(row)) *
         kv_row_bytes(type_, static_cast<size_t>(m.head_dim));
}

int KvStore::first_needed_page(int layer, int position, int margin) const {
  const int window = meta(layer).window;
  return window == 0 ? 0 : std::max(0, std::max(0, position - window + 1) - margin) / kPagePositions;
}

std::pair<int, int> KvStore::needed_pages(int layer, int position) const {
  return {first_needed_page(layer, position, 0), page_count(position)};
}

Status KvStore::make_writable(Layer& layer, int index, int page) {
  const size_t slot = static_cast<size_t>(page - layer.first_page);
  const bool exists = slot < layer.pages.size();
  if (exists && layer.pages[slot].unique()) return absl::OkStatus();
  G4_ASSIGN_OR_RETURN(auto bytes, AlignedBuffer<uint8_t>::create(page_bytes(index)));
  if (exists)
    std::memcpy(bytes.data(), layer.pages[slot].data(), bytes.size());
  else
    std::memset(bytes.data(), 0,
                bytes.size());  // vector loads may read rows not written yet: keep them finite
  PageRef fresh(std::move(bytes));
  if (exists)
    layer.pages[slot] = std::move(fresh);
  else
    layer.pages.push_back(std::move(fresh));
  return absl::OkStatus();
}

Status KvStore::prepare_step(int count) {
  for (int i = 0; i < meta_->owner_count(); ++i) {
    Layer& layer = layers_[static_cast<size_t>(i)];
    for (const int keep = first_needed_page(i, position_, rewind_margin_);
         layer.first_page < keep && !layer.pages.empty(); ++layer.first_page) {
      layer.set_aside.push_back(std::move(layer.pages.front()));
      layer.pages.pop_front();
    }
    for (int page = position_ / kPagePositions; page < page_count(position_ + count); ++page)
      G4_RETURN_IF_ERROR(make_writable(layer, i, page));
  }
  position_ += count;
  return absl::OkStatus();
}

void KvStore::commit() {
  for (Layer& layer : layers_) layer.set_aside.clear();
}

void KvStore::rollback() {
  for (Layer& layer : layers_) {
    for (; !layer.set_aside.empty(); layer.set_aside.pop_back(), --layer.first_page)
      layer.pages.push_front(std::move(layer.set_aside.back()));
  }
  truncate(append_start_);
}

void KvStore::mark() {
  while (!marks_.empty() && marks_.back().position >= position_) marks_.pop_back();
  if (marks_.size() == kMaxMarks) marks_.pop_front();
  Mark mark{position_, std::vector<Layer>(layers_.size())};
  for (int i = 0; i < meta_->owner_count(); ++i) {
    if (meta(i).window == 0) continue;
    const Layer& now = layers_[static_cast<size_t>(i)];
    Layer& kept = mark.layers[static_cast<size_t>(i)];
    kept.first_page = std::max(now.first_page, first_needed_page(i, position_, kMarkMargin));
    kept.pages.assign(now.pages.begin() + (kept.first_page - now.first_page), now.pages.end());
  }
  marks_.push_back(std::move(mark));
}

int KvStore::lowest_exact(const std::vector<Layer>& layers, int position) const {
  int lowest = 0;
  for (int i = 0; i < meta_->owner_count(); ++i) {
    const int first = layers[static_cast<size_t>(i)].first_page * kPagePositions;
    if (meta(i).window > 0 && first > 0) lowest = std::max(lowest, first + meta(i).window - 1);
  }
  return std::min(lowest, position);
}

int KvStore::rewind_min() const { return lowest_exact(layers_, position_); }

int KvStore::nearest_exact(int position) const {
  if (position >= rewind_min()) return position;
  int nearest = 0;
  for (const Mark& mark : marks_)
    if (const int reachable = std::min(position, mark.position);
        reachable >= lowest_exact(mark.layers, mark.position))
      nearest = std::max(nearest, reachable);
  return nearest;
}

void KvStore::truncate(int position) {
  G4_DCHECK(position <= position_);
  if (position < rewind_min())
    for (const Mark& mark : marks_)
      if (mark.position >= position && lowest_exact(mark.layers, mark.position) <= position) {
        for (int i = 0; i < meta_->owner_count(); ++i)
          if (meta(i).window > 0) layers_[static_cast<size_t>(i)] = mark.layers[static_cast<size_t>(i)];
        break;
      }
  while (!marks_.empty() && marks_.back().position > position) marks_.pop_back();
  for (Layer& layer : layers_) {
    const int keep = std::max(0, page_count(position) - layer.first_page);
    while (static_cast<int>(layer.pages.size()) > keep) layer.pages.pop_back();
    if (position == 0) layer.first_page = 0;
  }
  position_ = position;
}

KvStore::LayerPages KvStore::layer_pages(int layer) const {
  const Layer& l = layers_[static_cast<size_t>(layer)];
  const int first = std::max(l.first_page, first_needed_page(layer, position_, rewind_margin_));
  return {first, {l.pages.begin() + (first - l.first_page), l.pages.end()}};
}

KvStore KvStore::from_pages(const KvMeta& meta, KvType type, int rewind_margin, int position,
                            std::vector<LayerPages> layers) {
  KvStore store(meta, type, rewind_margin);
  store.position_ = position;
  for (size_t i = 0; i < layers.size(); ++i) {
    store.layers_[i].first_page = layers[i].first_page;
    store.layers_[i].pages.assign(layers[i].pages.begin(), layers[i].pages.end());
  }
  return store;
}

uint8_t* KvStore::k_row(int layer, int position, int head) {
  return const_cast<uint8_t*>(k_page(layer, position / kPagePositions, 0)) +
         row_offset(layer, position % kPagePositions, head, false);
}
uint8_t* KvStore::v_row(int layer, int position, int head) {
  return const_cast<uint8_t*>(k_page(layer, position / kPagePositions, 0)) +
         row_offset(layer, position % kPagePositions, head, true);
}
const uint8_t* KvStore::k_page(int layer, int page, int head) const {
  const Layer& l = layers_[static_cast<size_t>(layer)];
  G4_DCHECK(page >= l.first_page && page - l.first_page < static_cast<int>(l.pages.size()));
  return l.pages[static_cast<size_t>(page - l.first_page)].data() + row_offset(layer, 0, head, false);
}
const uint8_t* KvStore::v_page(int layer, int page, int head) const {
  return k_page(layer, page, 0) + row_offset(layer, 0, head, true);
}

uint64_t KvStore::size_bytes() const {
  std::unordered_set<const uint8_t*> seen;  // marks share most of their pages with the rings
  uint64_t bytes = 0;
  const auto count = [&](const std::vector<Layer>& layers) {
    for (const Layer& layer : layers)
      for (const PageRef& page : layer.pages)
        if (seen.insert(page.data()).second) bytes += page.size_bytes();
  };
  count(layers_);
  for (const Mark& mark : marks_) count(mark.layers);
  return bytes;
}

uint64_t KvStore::full_size_bytes(const KvMeta& meta, KvType type, int rewind_margin, int context, int step) {
  const KvStore shape(meta, type);
  uint64_t bytes = 0;
  for (int i = 0; i < meta.owner_count(); ++i) {
    const int window = meta[i].window;
    const auto pages_of = [&](int margin) {
      const int64_t reached = int64_t{window} + margin + kPagePositions;
      return page_count(static_cast<int>(std::min<int64_t>(context, reached)));
    };
    const int pages =
        window == 0 ? page_count(context)
                    : pages_of(rewind_margin + step) + static_cast<int>(kMaxMarks) * pages_of(kMarkMargin);
    bytes += static_cast<uint64_t>(pages) * shape.page_bytes(i);
  }
  return bytes;
}
}  // namespace g4
