// KV files as hostile input: every cut, every flipped bit ends in a status, never in a wrong state.
#include "kv/kv_file.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/support/test_data.h"

namespace g4 {
namespace {
ModelConfig small_config() {
  ModelConfig config;
  config.sliding_window = 40;
  config.head_count = 2;
  config.layers = {{true, 2, 8, 8}, {false, 1, 16, 8}};
  return config;
}

struct Fixture {
  KvMeta meta{small_config()};
  Fingerprint model{1, 2, 3};
  KvIdentity identity{model, &meta, KvType::kF16};
  std::vector<int32_t> tokens;
  std::vector<float> logits = std::vector<float>(50, 0.5f);
  TempDir dir;
  std::string path = dir.path("state.g4kv");

  KvStore filled(int count) {
    KvStore kv(meta, KvType::kF16, 8);
    for (tokens.clear(); kv.position() < count;) {
      kv.begin_append();
      const int start = kv.position(), step = std::min(10, count - start);
      REQUIRE(kv.prepare_step(step).ok());
      for (int layer = 0; layer < 2; ++layer)
        for (int p = start; p < start + step; ++p)
          for (int head = 0; head < meta[layer].kv_head_count; ++head) {
            const size_t bytes = kv_row_bytes(KvType::kF16, static_cast<size_t>(meta[layer].head_dim));
            std::memset(kv.k_row(layer, p, head), p % 120 + 1, bytes);
            std::memset(kv.v_row(layer, p, head), p % 120 + 130, bytes);
          }
      kv.commit();
      for (int p = start; p < start + step; ++p) tokens.push_back(p % 50);
    }
    return kv;
  }
  StatusOr<LoadedKv> load(const std::string& file, int context = 1000, int vocab = 50) {
    return load_kv(file, identity, 8, context, vocab);
  }
};
}  // namespace

TEST_CASE("A KV file holds the whole state and nothing that was truncated away", "[kv]") {
  Fixture f;
  for (const int count : {0, 1, 32, 77, 300}) {
    KvStore kv = f.filled(count + 9);
    kv.truncate(count);
    f.tokens.resize(static_cast<size_t>(count));
    const auto bytes = save_kv(f.path, f.identity, kv, {f.tokens, 3 % (f.tokens.size() + 1), f.logits});
    REQUIRE(bytes.ok());
    const std::string content = read_file(f.path);
    CHECK(content.size() == *bytes);
    if (count == 77) {  // rows 77 ... 85 were written: their bytes must be gone
      for (int p = 77; p < 86; ++p)
        CHECK(content.find(std::string(16, static_cast<char>(p % 120 + 1))) == std::string::npos);
    }
    const auto loaded = f.load(f.path);
    INFO(loaded.status().message());
    REQUIRE(loaded.ok());
    CHECK(loaded->store.position() == count);
    CHECK(loaded->info.tokens == f.tokens);
    CHECK(loaded->generated_begin == 3 % (f.tokens.size() + 1));
    CHECK(loaded->logits == f.logits);
    for (int layer = 0; layer < 2; ++layer)
      for (int p = std::max(0, count - 39); p < count; ++p) {
        const size_t row = kv_row_bytes(KvType::kF16, static_cast<size_t>(f.meta[layer].head_dim));
        const uint8_t* page = loaded->store.k_page(layer, p / kPagePositions, 0);
        REQUIRE(page[static_cast<size_t>(p % kPagePositions) * row] == p % 120 + 1);
      }
    const auto probe = probe_kv(f.path);
    REQUIRE(probe.ok());
    CHECK(probe->tokens == f.tokens);
    CHECK(probe->kv_type == "f16");
    CHECK(probe->model == f.model);
  }
}

TEST_CASE("A KV file cut anywhere, or with any bit flipped, is refused", "[kv]") {
  Fixture f;
  const KvStore kv = f.filled(100);
  REQUIRE(save_kv(f.path, f.identity, kv, {f.tokens, 0, f.logits}).ok());
  const std::string whole = read_file(f.path);
  for (size_t cut = 0; cut < whole.size(); cut += cut < 1200 ? 1 : 64) {  // blocks begin at multiples of 64
    const Status status = f.load(f.dir.write("cut", whole.substr(0, cut))).status();
    INFO("cut at " << cut << ": " << status.message());
    REQUIRE(status.code() == absl::StatusCode::kDataLoss);
  }
  CHECK_FALSE(f.load(f.dir.write("longer", whole + "x")).ok());
  int padding = 0;  // flips in the zeros between blocks are harmless: nothing reads them
  for (size_t at = 0; at < whole.size(); at += at < 1500 ? 1 : 97) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    const auto loaded = f.load(f.dir.write("flipped", flipped));
    if (loaded.ok()) {
      REQUIRE(whole[at] == 0);
      ++padding;
      CHECK(loaded->info.tokens == f.tokens);
    }
  }
  CHECK(padding < 80);
}

TEST_CASE("A KV file of another identity is a mismatch, one that contradicts itself is damaged", "[kv]") {
  Fixture f;
  const KvStore kv = f.filled(100);
  REQUIRE(save_kv(f.path, f.identity, kv, {f.tokens, 0, {}}).ok());
  KvIdentity other = f.identity;
  other.model[5] ^= 1;
  CHECK(load_kv(f.path, other, 8, 1000, 50).status().code() == absl::StatusCode::kPermissionDenied);
  other = f.identity;
  other.type = KvType::kF32;
  CHECK(load_kv(f.path, other, 8, 1000, 50).status().code() == absl::StatusCode::kPermissionDenied);
  for (const auto& change :
       std::vector<void (*)(ModelConfig&)>{[](ModelConfig& c) { c.sliding_window = 41; },
                                           [](ModelConfig& c) { c.layers[0].kv_head_count = 1; },
                                           [](ModelConfig& c) { c.layers[1].head_dim = 8; },
                                           [](ModelConfig& c) {
                                             c.layers.push_back({true, 1, 8, 8});
                                           }}) {
    ModelConfig config = small_config();
    change(config);
    const KvMeta meta(config);
    other = f.identity;
    other.meta = &meta;
    CHECK(load_kv(f.path, other, 8, 1000, 50).status().code() == absl::StatusCode::kPermissionDenied);
  }
  CHECK(f.load(f.path, 99).status().code() == absl::StatusCode::kOutOfRange);
  CHECK(f.load(f.path, 100).ok());
  CHECK(f.load(f.path, 1000, 49).status().code() == absl::StatusCode::kDataLoss);  // token 49 is outside
  CHECK(f.load(f.path)->logits.empty());
}
}  // namespace g4
