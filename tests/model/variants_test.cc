#include <catch2/catch.hpp>

#include "model/read_config.h"

namespace g4 {
namespace {
ModelConfig sizes(int layers, int hidden, int heads, int shared, int ple, int experts) {
  ModelConfig config;
  config.layers.resize(static_cast<size_t>(layers));
  config.hidden_dim = hidden;
  config.head_count = heads;
  config.shared_kv_layer_count = shared;
  config.ple_dim = ple;
  config.expert_count = experts;
  return config;
}
}  // namespace

TEST_CASE("variants: published sizes have a name, all others are custom", "[model]") {
  CHECK(std::string(variant_name(sizes(35, 1536, 8, 20, 256, 0))) == "E2B");
  CHECK(std::string(variant_name(sizes(42, 2560, 8, 18, 256, 0))) == "E4B");
  CHECK(std::string(variant_name(sizes(60, 5376, 32, 0, 0, 0))) == "31B");
  CHECK(std::string(variant_name(sizes(30, 2816, 16, 0, 0, 128))) == "26B-A4B");
  CHECK(std::string(variant_name(sizes(35, 1536, 8, 20, 128, 0))) == "custom");
  CHECK(std::string(variant_name(sizes(10, 96, 4, 5, 16, 0))) == "custom");
}
}  // namespace g4
