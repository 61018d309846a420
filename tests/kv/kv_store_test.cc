#include "kv/kv_store.h"

#include <catch2/catch.hpp>
#include <cstring>

namespace g4 {
namespace {
constexpr int kWindow = 40, kMargin = 8, kDim = 4;

ModelConfig small_config() {
  ModelConfig config;
  config.sliding_window = kWindow;
  config.head_count = 2;
  config.layers = {{true, 2, kDim, 8}, {false, 1, kDim, 8}};
  return config;
}

float value_of(int layer, int position, int head, bool value, float salt) {
  return static_cast<float>(layer * 100000 + position * 10 + head * 2 + value) + salt;
}

// Appends positions in one step, each row filled with its own number.
void append(KvStore& kv, const KvMeta& meta, int count, float salt = 0) {
  const int start = kv.position();
  REQUIRE(kv.prepare_step(count).ok());
  for (int layer = 0; layer < meta.owner_count(); ++layer)
    for (int p = start; p < start + count; ++p)
      for (int head = 0; head < meta[layer].kv_head_count; ++head)
        for (const bool value : {false, true}) {
          float row[kDim];
          std::fill(row, row + kDim, value_of(layer, p, head, value, salt));
          std::memcpy(value ? kv.v_row(layer, p, head) : kv.k_row(layer, p, head), row, sizeof row);
        }
}

float read(const KvStore& kv, int layer, int p, int head, bool value) {
  const uint8_t* page =
      value ? kv.v_page(layer, p / kPagePositions, head) : kv.k_page(layer, p / kPagePositions, head);
  float row[kDim];
  std::memcpy(row, page + static_cast<size_t>(p % kPagePositions) * sizeof row, sizeof row);
  for (const float x : row) REQUIRE(x == row[0]);
  return row[0];
}

// Every position that the next token can see holds its number; positions from `salted_from` on carry the
// salt.
void check_visible(const KvStore& kv, const KvMeta& meta, int salted_from = 1 << 30, float salt = 0) {
  for (int layer = 0; layer < meta.owner_count(); ++layer) {
    const int first = meta[layer].window == 0 ? 0 : std::max(0, kv.position() - meta[layer].window + 1);
    for (int p = first; p < kv.position(); ++p)
      for (int head = 0; head < meta[layer].kv_head_count; ++head)
        for (const bool value : {false, true})
          REQUIRE(read(kv, layer, p, head, value) ==
                  value_of(layer, p, head, value, p >= salted_from ? salt : 0));
  }
}

void append_committed(KvStore& kv, const KvMeta& meta, int count, float salt = 0) {
  kv.begin_append();
  append(kv, meta, count, salt);
  kv.commit();
}
}  // namespace

TEST_CASE("A sliding layer keeps its window and margin, and no more", "[kv]") {
  const KvMeta meta(small_config());
  for (const int step : {1, 3, 32, 50, 200}) {
    KvStore kv(meta, KvType::kF32, kMargin);
    uint64_t largest_sliding = 0;
    while (kv.position() < 1000) {
      append_committed(kv, meta, step);
      check_visible(kv, meta);
      const uint64_t full = static_cast<uint64_t>((kv.position() + 31) / 32) * 2 * 32 * kDim * 4;
      largest_sliding = std::max(largest_sliding, kv.size_bytes() - full);
    }
    INFO("step " << step);
    const uint64_t positions = static_cast<uint64_t>(kWindow + kMargin + step + 2 * kPagePositions);
    CHECK(largest_sliding <= positions * 2 * 2 * kDim * 4);
    CHECK(kv.size_bytes() <= KvStore::full_size_bytes(meta, KvType::kF32, kMargin, kv.position(), step));
  }
}

TEST_CASE("Rollback of a long append leaves the store as it was", "[kv]") {
  const KvMeta meta(small_config());
  KvStore kv(meta, KvType::kF32, kMargin);
  append_committed(kv, meta, 77);
  const int rewind_min = kv.rewind_min();
  const uint64_t bytes = kv.size_bytes();
  kv.begin_append();
  for (int i = 0; i < 10; ++i) append(kv, meta, 60, 0.5f);
  kv.rollback();
  CHECK(kv.position() == 77);
  CHECK(kv.rewind_min() == rewind_min);
  CHECK(kv.size_bytes() == bytes);
  check_visible(kv, meta);
  append_committed(kv, meta, 100);
  check_visible(kv, meta);
}

TEST_CASE("Forks share pages and do not see each other's writes", "[kv]") {
  const KvMeta meta(small_config());
  KvStore parent(meta, KvType::kF32, kMargin);
  append_committed(parent, meta, 75);
  KvStore child = parent.fork();
  append_committed(parent, meta, 30, 0.25f);
  append_committed(child, meta, 40, 0.5f);
  check_visible(parent, meta, 75, 0.25f);
  check_visible(child, meta, 75, 0.5f);
  {
    const KvStore grandchild = child.fork();
    check_visible(grandchild, meta, 75, 0.5f);
  }
  child.truncate(80);
  append_committed(child, meta, 3, 0.5f);
  check_visible(child, meta, 75, 0.5f);
  check_visible(parent, meta, 75, 0.25f);
}

TEST_CASE("Truncation is exact down to rewind_min", "[kv]") {
  const KvMeta meta(small_config());
  KvStore kv(meta, KvType::kF32, kMargin);
  CHECK(kv.rewind_min() == 0);
  append_committed(kv, meta, 30);
  CHECK(kv.rewind_min() == 0);
  for (int i = 0; i < 6; ++i) append_committed(kv, meta, 50);
  const int lowest = kv.rewind_min();
  CHECK(lowest > 0);
  CHECK(lowest <= 330 - kMargin);
  for (int position = 330; position >= lowest; position -= 3) {
    kv.truncate(position);
    check_visible(kv, meta);
  }
  append_committed(kv, meta, 90, 0.5f);
  kv.truncate(0);
  CHECK(kv.position() == 0);
  CHECK(kv.size_bytes() == 0);
  append_committed(kv, meta, 50);
  check_visible(kv, meta);
}

TEST_CASE("Marks keep far positions exact, in bounded number", "[kv]") {
  const KvMeta meta(small_config());
  KvStore kv(meta, KvType::kF32, kMargin);
  std::vector<int> marked;
  for (int turn = 0; turn < 30; ++turn) {
    append_committed(kv, meta, 37 + turn);
    kv.mark();
    marked.push_back(kv.position());
    append_committed(kv, meta, 90);
  }
  const uint64_t rings =
      static_cast<uint64_t>(kWindow + kMargin + 90 + 2 * kPagePositions) * 2 * 2 * kDim * 4;
  const uint64_t full = static_cast<uint64_t>(kv.position() + 31) / 32 * 2 * 32 * kDim * 4;
  CHECK(kv.size_bytes() <= full + (kMaxMarks + 1) * rings);
  const int lowest_mark = marked[marked.size() - kMaxMarks];
  CHECK(kv.nearest_exact(lowest_mark) == lowest_mark);
  CHECK(kv.nearest_exact(lowest_mark - 10) == lowest_mark - 10);  // a mark has a little margin of its own
  CHECK(kv.nearest_exact(lowest_mark - 200) == 0);
  CHECK(kv.nearest_exact(lowest_mark + 80) < lowest_mark + 80);
  CHECK(kv.nearest_exact(kv.position()) == kv.position());

  KvStore fork = kv.fork();
  for (size_t back = 1; back <= kMaxMarks; ++back) {
    const int position = marked[marked.size() - back] - static_cast<int>(back);
    INFO(position);
    REQUIRE(kv.nearest_exact(position) == position);
    kv.truncate(position);
    check_visible(kv, meta);
    KvStore other = kv.fork();
    append_committed(other, meta, 60, 0.5f);  // writes into shared pages: the marks keep theirs
    check_visible(other, meta, position, 0.5f);
  }
  CHECK(kv.nearest_exact(kv.position() - 100) == 0);  // earlier marks are gone with what came after them
  fork.truncate(fork.nearest_exact(marked[25]));
  check_visible(fork, meta);
}

TEST_CASE("A store of another's pages goes on like it", "[kv]") {
  const KvMeta meta(small_config());
  KvStore kv(meta, KvType::kF32, kMargin);
  for (int i = 0; i < 7; ++i) append_committed(kv, meta, 33);
  std::vector<KvStore::LayerPages> pages;
  for (int layer = 0; layer < meta.owner_count(); ++layer) {
    pages.push_back(kv.layer_pages(layer));
    const auto [first, last] = kv.needed_pages(layer, kv.position());
    CHECK(pages.back().first_page <= first);
    CHECK(pages.back().first_page + static_cast<int>(pages.back().pages.size()) == last);
  }
  KvStore copy = KvStore::from_pages(meta, KvType::kF32, kMargin, kv.position(), std::move(pages));
  check_visible(copy, meta);
  append_committed(copy, meta, 100, 0.5f);
  check_visible(copy, meta, 231, 0.5f);
  append_committed(kv, meta, 20, 0.25f);
  check_visible(kv, meta, 231, 0.25f);
}
}  // namespace g4
