#include "kv/kv_meta.h"

#include <catch2/catch.hpp>

namespace g4 {
namespace {
// A pattern like "SSSSF": sliding and full layers; the last `shared` own no KV.
ModelConfig config_of(const std::string& pattern, int shared, int kv_sliding = 1, int kv_full = 1) {
  ModelConfig config;
  config.sliding_window = 512;
  config.head_count = 8;
  config.shared_kv_layer_count = shared;
  for (const char kind : pattern) {
    const bool sliding = kind == 'S';
    config.layers.push_back({sliding, sliding ? kv_sliding : kv_full, sliding ? 256 : 512, 6144});
  }
  return config;
}

std::string repeated(const std::string& unit, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += unit;
  return all;
}
}  // namespace

TEST_CASE("E2B's shared layers read layers 13 and 14, E4B's 22 and 23", "[kv]") {
  const KvMeta e2b(config_of(repeated("SSSSF", 7), 20));
  REQUIRE(e2b.layer_count() == 35);
  REQUIRE(e2b.owner_count() == 15);
  for (int i = 0; i < 15; ++i) CHECK(e2b[i].source_layer == i);
  for (int i = 15; i < 35; ++i) CHECK(e2b[i].source_layer == (i % 5 == 4 ? 14 : 13));

  const KvMeta e4b(config_of(repeated("SSSSSF", 7), 18, 2, 2));
  REQUIRE(e4b.owner_count() == 24);
  for (int i = 24; i < 42; ++i) CHECK(e4b[i].source_layer == (i % 6 == 5 ? 23 : 22));
}

TEST_CASE("Sources follow the kind, whatever the pattern", "[kv]") {
  const KvMeta far(
      config_of("FSSS"
                "SF",
                2));  // the last full owner is layer 0
  CHECK(far[4].source_layer == 3);
  CHECK(far[5].source_layer == 0);
  const KvMeta two_full(
      config_of("SFF"
                "SFS",
                3));  // not the last two layers: both of those are full
  CHECK(two_full[3].source_layer == 0);
  CHECK(two_full[4].source_layer == 2);
  CHECK(two_full[5].source_layer == 0);
  const KvMeta none(config_of("SSSSSF", 0));
  for (int i = 0; i < 6; ++i) CHECK(none[i].source_layer == i);
}

TEST_CASE("Rows of the registry: kind, window, heads, size and offset", "[kv]") {
  const KvMeta meta(
      config_of("SSF"
                "SF",
                2, 2, 4));
  CHECK(meta[0].window == 512);
  CHECK(meta[2].window == 0);
  CHECK(meta[3].is_sliding);
  CHECK_FALSE(meta[4].is_sliding);
  CHECK(meta[2].kv_head_count == 4);
  CHECK(meta[2].head_dim == 512);
  CHECK(meta.offset_bytes(0, KvType::kF16) == 0);
  CHECK(meta.offset_bytes(1, KvType::kF16) == 2 * 2 * 256 * 2);
  CHECK(meta.offset_bytes(2, KvType::kF32) == 2 * 2 * 2 * 256 * 4);
  CHECK(meta.offset_bytes(2, KvType::kQ8_0) == 2 * 2 * 2 * 8 * 34);
  CHECK(meta.offset_bytes(3, KvType::kF16) == meta.offset_bytes(1, KvType::kF16));  // its source's
  CHECK(meta.offset_bytes(4, KvType::kF16) == meta.offset_bytes(2, KvType::kF16));
}
}  // namespace g4
