#include "model/pack_weights.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "io/gguf.h"
#include "model/read_config.h"
#include "quant/packing.h"
#include "tests/model/tiny_model.h"
#include "tests/support/test_data.h"

namespace g4 {
namespace {
struct Opened {
  explicit Opened(const std::string& path) {
    file = *MappedFile::open(path);
    source = *open_gguf(file);
    config = *read_config(*source);
    weights = *load_weights(*source, config);
  }
  std::shared_ptr<MappedFile> file;
  std::unique_ptr<TensorSource> source;
  ModelConfig config;
  Weights weights;
};

GgufWriter numbered(const TinyModel& model) {
  GgufWriter writer = model.write();
  uint8_t next = 1;
  for (GgufTensor& tensor : writer.tensors) {
    tensor.data.resize(tensor.size_bytes);
    for (char& byte : tensor.data) byte = static_cast<char>(next++ % 61);
  }
  return writer;
}

void check_packed(const Matrix& packed, const Matrix& from, size_t lanes) {
  REQUIRE(packed.lanes == lanes);
  REQUIRE(packed.rows == from.rows);
  REQUIRE(packed.cols == from.cols);
  std::vector<uint8_t> expected(packed.size_bytes());
  pack_groups(from, lanes, 0, packed.stored_rows() / lanes, expected.data());
  CHECK(std::memcmp(packed.data, expected.data(), expected.size()) == 0);
}
}  // namespace

TEST_CASE("Every matrix is packed, each expert by itself", "[model]") {
  const TempDir folder;
  for (const TinyModel& model : {TinyModel(), tiny_mixture()}) {
    const std::string path = folder.write("model.gguf", numbered(model).build());
    const Opened plain(path);
    Opened opened(path);
    const auto pool = *ThreadPool::create(2);
    std::vector<uint64_t> reports;
    uint64_t total = 0;
    const auto progress = [&](uint64_t done, uint64_t all) {
      reports.push_back(done);
      total = all;
      return true;
    };
    REQUIRE(pack_weights(opened.weights, 16, *opened.file, *pool, progress).ok());
    CHECK(std::is_sorted(reports.begin(), reports.end()));
    CHECK(reports.back() == total);
    CHECK(opened.weights.packed.size() == total);
    CHECK(opened.weights.token_embd.data == opened.weights.output.data);  // one copy of both
    check_packed(opened.weights.output, plain.weights.output, 16);
    for (size_t i = 0; i < plain.weights.layers.size(); ++i) {
      const LayerWeights &packed = opened.weights.layers[i], &from = plain.weights.layers[i];
      check_packed(packed.attn_q, from.attn_q, 16);
      check_packed(packed.ffn_down, from.ffn_down, 16);
      CHECK(packed.attn_v.empty() == from.attn_v.empty());
      for (size_t x = 0; x < from.expert_gate_up.count; ++x)
        check_packed(packed.expert_gate_up[x], from.expert_gate_up[x], 16);
    }
    for (size_t i = 0; i < plain.weights.ple_model_proj.count; ++i)
      check_packed(opened.weights.ple_model_proj[i], plain.weights.ple_model_proj[i], 16);
  }
}

TEST_CASE("Packing that is stopped leaves the weights as they were", "[model]") {
  const TempDir folder;
  Opened opened(folder.write("model.gguf", numbered(TinyModel()).build()));
  const auto pool = *ThreadPool::create(1);
  const uint8_t* data = opened.weights.output.data;
  for (const uint64_t stop_at : {0u, 5000u}) {
    const auto stop = [&](uint64_t done, uint64_t) { return done < stop_at; };
    CHECK(absl::IsCancelled(pack_weights(opened.weights, 8, *opened.file, *pool, stop)));
    CHECK(opened.weights.output.data == data);
    CHECK(opened.weights.output.lanes == 1);
    CHECK(opened.weights.packed.size() == 0);
  }
}
}  // namespace g4
