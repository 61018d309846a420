#include "model/read_config.h"

#include <catch2/catch.hpp>
#include <limits>

#include "io/gguf.h"
#include "tests/model/tiny_model.h"
#include "tests/support/test_data.h"

namespace g4 {
namespace {
using Catch::Contains;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

StatusOr<ModelConfig> config_of(const GgufWriter& writer) {
  const GgufInMemory file(writer);
  REQUIRE(file.ok());
  return read_config(*file);
}
// Reading the configuration fails with a format error; the message.
std::string format_message(const GgufWriter& writer) {
  const Status status = config_of(writer).status();
  REQUIRE(absl::IsDataLoss(status));
  return std::string(status.message());
}
ModelConfig golden_config(const char* path) {
  auto file = MappedFile::open(golden_path(path));
  REQUIRE(file.ok());
  const auto source = open_gguf(*file);
  REQUIRE(source.ok());
  const auto config = read_config(**source);
  REQUIRE(config.ok());
  return *config;
}
std::string pattern_of(const ModelConfig& config) {
  std::string pattern;
  for (const LayerConfig& layer : config.layers) pattern += layer.is_sliding ? 'S' : 'F';
  return pattern;
}
}  // namespace

TEST_CASE("config: every key of a model with shared layers and per-layer embeddings", "[model]") {
  const auto config = config_of(TinyModel().write());
  REQUIRE(config.ok());
  CHECK(config->architecture == "gemma4");
  CHECK(config->name == "tiny");
  CHECK(config->vocab_size == 20);
  CHECK(config->hidden_dim == 32);
  CHECK(config->head_count == 4);
  CHECK(config->context_length == 4096);
  CHECK(config->sliding_window == 6);
  CHECK(config->shared_kv_layer_count == 2);
  CHECK(config->ple_dim == 8);
  CHECK(config->expert_count == 0);
  CHECK(config->norm_eps == 1e-6f);
  CHECK(config->logit_softcap == 30.0f);
  CHECK(config->rope_base_full == 1e6f);
  CHECK(config->rope_base_sliding == 1e4f);
  CHECK_FALSE(config->bidirectional_media);
  CHECK(pattern_of(*config) == "SSFSF");
  CHECK(config->first_shared_layer() == 3);
  for (size_t i = 0; i < 5; ++i) {
    const bool full = i == 2 || i == 4;
    CHECK(config->layers[i].kv_head_count == (full ? 1 : 2));
    CHECK(config->layers[i].head_dim == (full ? 16 : 8));
    CHECK(config->layers[i].ffn_dim == (i < 3 ? 48 : 64));
  }
}

TEST_CASE("config: the reference models", "[model]") {
  const ModelConfig e2b = golden_config("tiny/e2b-tiny/model.gguf");
  CHECK(pattern_of(e2b) == "SSSSFSSSSF");
  CHECK(e2b.first_shared_layer() == 5);
  CHECK(e2b.ple_dim == 16);
  CHECK(e2b.layers[4].ffn_dim == 192);
  CHECK(e2b.layers[5].ffn_dim == 384);
  CHECK(e2b.vocab_size == 640);
  CHECK_FALSE(e2b.bidirectional_media);

  const ModelConfig dense = golden_config("tiny/dense31b-tiny/model.gguf");
  CHECK(pattern_of(dense) == "SSSSSF");
  CHECK(dense.layers[0].kv_head_count == 4);
  CHECK(dense.layers[5].kv_head_count == 1);
  CHECK(dense.shared_kv_layer_count == 0);
  CHECK(dense.ple_dim == 0);
  CHECK(dense.bidirectional_media);

  const ModelConfig mixture = golden_config("tiny/moe26b-tiny/model.gguf");
  CHECK(mixture.expert_count == 8);
  CHECK(mixture.expert_used_count == 2);
  CHECK(mixture.expert_ffn_dim == 48);
}

TEST_CASE("config: the published sizes", "[model]") {
  const TempDir dir;
  const auto config_of_size = [&](const TinyModel& model) {
    GgufWriter writer;
    model.write_keys(writer);
    writer.add("token_embd.weight", {model.vocab, model.hidden}, DType::kQ6_K);
    writer.write_sparse(dir.path("model.gguf"));
    auto file = MappedFile::open(dir.path("model.gguf"));
    REQUIRE(file.ok());
    const auto config = read_config(**open_gguf(*file));
    REQUIRE(config.ok());
    return *config;
  };
  const ModelConfig e2b = config_of_size(real_e2b());
  CHECK(e2b.layer_count() == 35);
  CHECK(e2b.first_shared_layer() == 15);
  CHECK(e2b.layers[14].head_dim == 512);
  CHECK(e2b.layers[13].head_dim == 256);
  CHECK(e2b.layers[15].ffn_dim == 12288);
  CHECK(e2b.vocab_size == 262144);
  CHECK(std::string(variant_name(e2b)) == "E2B");
  const ModelConfig mixture = config_of_size(real_26b());
  CHECK(mixture.layers[5].kv_head_count == 2);
  CHECK(mixture.layers[4].kv_head_count == 8);
  CHECK(mixture.bidirectional_media);
  CHECK(std::string(variant_name(mixture)) == "26B-A4B");
}

TEST_CASE("config: numbers in place of arrays", "[model]") {
  GgufWriter writer = TinyModel().write();
  writer.set("gemma4.feed_forward_length", uint32_t{40}).set("gemma4.attention.head_count_kv", uint32_t{4});
  auto config = config_of(writer);
  REQUIRE(config.ok());
  for (const LayerConfig& layer : config->layers) {
    CHECK(layer.ffn_dim == 40);
    CHECK(layer.kv_head_count == 4);
  }
  // Every n-th layer is full, and the last one always.
  writer.set("gemma4.attention.shared_kv_layers", uint32_t{0});
  for (const auto& [period, pattern] : {std::pair<uint32_t, const char*>{1, "FFFFF"},
                                        {2, "SFSFF"},
                                        {3, "SSFSF"},
                                        {4, "SSSFF"},
                                        {5, "SSSSF"},
                                        {9, "SSSSF"}}) {
    config = config_of(writer.set("gemma4.attention.sliding_window_pattern", period));
    REQUIRE(config.ok());
    CHECK(pattern_of(*config) == pattern);
  }
  // Bools as integers.
  config = config_of(
      writer.set_array("gemma4.attention.sliding_window_pattern", std::vector<int32_t>{0, 1, 0, 1, 0}));
  REQUIRE(config.ok());
  CHECK(pattern_of(*config) == "FSFSF");
}

TEST_CASE("config: what absent keys mean", "[model]") {
  GgufWriter writer = TinyModel().write();
  for (const char* key : {"general.name", "gemma4.context_length", "gemma4.final_logit_softcapping",
                          "gemma4.rope.freq_base", "gemma4.rope.freq_base_swa", "gemma4.rope.dimension_count",
                          "gemma4.rope.dimension_count_swa", "gemma4.attention.value_length",
                          "gemma4.attention.value_length_swa", "gemma4.attention.head_count_kv",
                          "gemma4.attention.shared_kv_layers", "gemma4.embedding_length_per_layer_input",
                          "gemma4.attention.key_length", "gemma4.attention.key_length_swa"})
    writer.erase(key);
  const auto config = config_of(writer);
  REQUIRE(config.ok());
  CHECK(config->name.empty());
  CHECK(config->context_length == 131072);
  CHECK(config->logit_softcap == 30.0f);
  CHECK(config->rope_base_full == 1e6f);
  CHECK(config->rope_base_sliding == 1e4f);
  CHECK(config->shared_kv_layer_count == 0);
  CHECK(config->ple_dim == 0);
  CHECK(config->bidirectional_media);
  for (const LayerConfig& layer : config->layers) {
    CHECK(layer.kv_head_count == 4);
    CHECK(layer.head_dim == 8);
  }
}

TEST_CASE("config: a softcap of zero is none", "[model]") {
  const auto config = config_of(TinyModel().write().set("gemma4.final_logit_softcapping", 0.0f));
  REQUIRE(config.ok());
  CHECK(config->logit_softcap == 0.0f);
}

TEST_CASE("config: an explicit key decides about image tokens", "[model]") {
  constexpr const char* kKey = "gemma4.attention.bidirectional_media";
  CHECK(config_of(TinyModel().write().set(kKey, true))->bidirectional_media);
  CHECK_FALSE(config_of(tiny_dense().write().set(kKey, false))->bidirectional_media);
  CHECK_THAT(format_message(TinyModel().write().set(kKey, uint32_t{1})), Contains(kKey));
}

TEST_CASE("config: no window is needed where no layer is sliding", "[model]") {
  TinyModel model;
  model.pattern = "FFFFF";
  const auto config = config_of(model.write().erase("gemma4.attention.sliding_window"));
  REQUIRE(config.ok());
  CHECK(config->sliding_window == 0);
}

TEST_CASE("config: keys that must be there are named when they are not", "[model]") {
  for (const std::string key :
       {"general.architecture", "gemma4.block_count", "gemma4.embedding_length", "gemma4.feed_forward_length",
        "gemma4.attention.head_count", "gemma4.attention.sliding_window",
        "gemma4.attention.sliding_window_pattern", "gemma4.attention.layer_norm_rms_epsilon",
        "gemma4.expert_used_count", "gemma4.expert_feed_forward_length"})
    CHECK_THAT(format_message(tiny_mixture().write().erase(key)), Contains("key " + key + " is missing"));
}

TEST_CASE("config: keys of the wrong type are named", "[model]") {
  const GgufWriter good = tiny_mixture().write();
  for (const auto& [key, value] : good.keys) {
    INFO(key);
    const bool is_text = value[0] == static_cast<char>(kGgufString);
    GgufWriter writer = good;
    if (is_text)
      writer.set(key, uint32_t{1});
    else
      writer.set(key, std::string("1"));
    CHECK_THAT(format_message(writer), Contains("key " + key));
    if (value[0] == static_cast<char>(kGgufF32)) {
      CHECK_THAT(format_message(writer.set(key, uint32_t{3})), Contains("key " + key));
    } else if (!is_text) {
      CHECK_THAT(format_message(writer.set(key, 3.0f)), Contains("key " + key));
    }
  }
}

TEST_CASE("config: values no network can have are named", "[model]") {
  struct Case {
    const char* key;
    std::vector<int64_t> values;
  };
  for (const Case& c :
       {Case{"block_count", {0, -1, 1025, 1000000, INT64_MAX}},
        Case{"embedding_length", {0, -32, (1 << 20) + 1, int64_t{1} << 32}},
        Case{"feed_forward_length", {0, -1, int64_t{1} << 31}},
        Case{"attention.head_count", {0, -4, 1025, int64_t{1} << 33}},
        Case{"attention.head_count_kv", {0, -1, 5, int64_t{1} << 32}},
        Case{"attention.key_length", {0, 1, 1026, -16, int64_t{1} << 32}},
        Case{"attention.key_length_swa", {0, 1, 1026}}, Case{"attention.value_length", {8, 0, 32}},
        Case{"attention.value_length_swa", {16, 0}}, Case{"rope.dimension_count", {4, 0, 32}},
        Case{"rope.dimension_count_swa", {4, -8}},
        Case{"attention.sliding_window", {0, -1, int64_t{1} << 31}},
        Case{"attention.sliding_window_pattern", {0, -1, 1025}},
        Case{"attention.shared_kv_layers", {-1, 6, 7, int64_t{1} << 32}},
        Case{"context_length", {0, -1, int64_t{1} << 31}},
        Case{"embedding_length_per_layer_input", {-1, (1 << 20) + 1}}, Case{"expert_count", {-1, 4097, 1}},
        Case{"expert_used_count", {0, 6, -1}}, Case{"expert_feed_forward_length", {0, (1 << 20) + 1}}}) {
    for (const int64_t value : c.values) {
      INFO(c.key << " = " << value);
      const std::string message =
          format_message(tiny_mixture().write().set(std::string("gemma4.") + c.key, value));
      CHECK_THAT(message, Contains(c.key) || Contains("expert_used_count"));
    }
  }
}

TEST_CASE("config: floats no network can have are named", "[model]") {
  struct Case {
    const char* key;
    std::vector<float> values;
  };
  for (const Case& c :
       {Case{"attention.layer_norm_rms_epsilon", {0, -1e-6f, 2, kNan, kInf}},
        Case{"final_logit_softcapping", {-1, kNan, kInf}}, Case{"rope.freq_base", {0, 1, -1e6f, kNan, kInf}},
        Case{"rope.freq_base_swa", {0, 1, kNan, -kInf}}}) {
    for (const float value : c.values) {
      INFO(c.key << " = " << value);
      CHECK_THAT(format_message(TinyModel().write().set(std::string("gemma4.") + c.key, value)),
                 Contains(c.key));
    }
  }
  CHECK_THAT(format_message(TinyModel().write().set("gemma4.rope.freq_base", double{1e300})),
             Contains("rope.freq_base"));
}

TEST_CASE("config: arrays have one entry per layer, each in range", "[model]") {
  for (const std::string key : {"gemma4.feed_forward_length", "gemma4.attention.head_count_kv",
                                "gemma4.attention.sliding_window_pattern"}) {
    for (const size_t length : {0, 4, 6, 100000})
      CHECK_THAT(format_message(TinyModel().write().set_array(key, std::vector<int32_t>(length, 1))),
                 Contains(key + " has " + std::to_string(length) + " entries") && Contains("5 layers"));
    CHECK_THAT(format_message(TinyModel().write().set_array(key, std::vector<int32_t>{1, 1, 1, -1, 1})),
               Contains(key + "[3] is -1"));
    CHECK_THAT(format_message(TinyModel().write().set_array(key, std::vector<float>(5, 1))), Contains(key));
  }
  CHECK_THAT(format_message(TinyModel().write().set_array("gemma4.attention.sliding_window_pattern",
                                                          std::vector<int32_t>{1, 1, 0, 2, 0})),
             Contains("pattern[3] is 2"));
}

TEST_CASE("config: layers must fit each other", "[model]") {
  TinyModel odd;
  odd.head_dim_full = 15;
  GgufWriter writer = odd.write();
  CHECK_THAT(format_message(writer), Contains("layer 2") && Contains("15") && Contains("even"));
  CHECK_THAT(format_message(TinyModel().write().set("gemma4.attention.head_count_kv", uint32_t{3})),
             Contains("4 heads for 3 KV heads"));
  // Without key_length a head would have 1048576 / 4 values.
  writer = TinyModel().write();
  for (const char* key : {"key_length", "value_length", "key_length_swa", "value_length_swa"})
    writer.erase(std::string("gemma4.attention.") + key);
  writer.erase("gemma4.rope.dimension_count").erase("gemma4.rope.dimension_count_swa");
  CHECK_THAT(format_message(writer.set("gemma4.embedding_length", uint32_t{1 << 20})),
             Contains("head dim of 262144"));
}

TEST_CASE("config: every shared layer needs a source of its own kind", "[model]") {
  TinyModel model;
  for (const auto& [pattern, shared, layer] :
       {std::tuple<const char*, uint32_t, const char*>{"SSSSF", 1, "layer 4"},
        {"FFFS", 1, "layer 3"},
        {"SFSF", 3, "layer 1"}}) {
    model.pattern = pattern;
    model.shared = shared;
    CHECK_THAT(format_message(model.write()), Contains(layer) && Contains("shared_kv_layers"));
  }
  model.pattern = "FSSFFSFFS";  // odd, but every kind has its source
  model.shared = 6;
  CHECK(config_of(model.write()).ok());
  // The source's K and V must have as many heads as the layer that reads them.
  GgufWriter writer = TinyModel().write();
  writer.set_array("gemma4.attention.head_count_kv", std::vector<int32_t>{2, 2, 1, 4, 1});
  CHECK_THAT(format_message(writer), Contains("layer 3 has 4 KV heads") && Contains("layer 1"));
}

TEST_CASE("config: other architectures are refused by name", "[model]") {
  const auto message = [](const std::string& architecture) {
    const Status status = config_of(TinyModel().write().set("general.architecture", architecture)).status();
    REQUIRE(absl::IsUnimplemented(status));
    return std::string(status.message());
  };
  CHECK_THAT(message("llama"), Contains("architecture is llama"));
  CHECK_THAT(message("gemma3"), Contains("gemma3"));
  CHECK_THAT(message(""), Contains("architecture is"));
  CHECK_THAT(message("gemma4-assistant"), Contains("drafter"));
  CHECK_THAT(message("clip"), Contains("towers"));
  // Whatever the file says, the message is short and printable.
  const std::string odd = message(std::string(100000, '\x01') + "\xff");
  CHECK(odd.size() < 1000);
  for (const char c : odd) CHECK((c >= 0x20 && c < 0x7f));
}

TEST_CASE("config: the name is for people, and printable", "[model]") {
  CHECK(config_of(TinyModel().write().set("general.name", std::string("g4 demo")))->name == "g4 demo");
  CHECK(config_of(TinyModel().write().set("general.name", std::string("a\nb\xff")))->name == "a\\nb\\xff");
}

TEST_CASE("config: the vocabulary is as large as the embedding", "[model]") {
  GgufWriter writer = TinyModel().write();
  CHECK(config_of(writer.set_array("tokenizer.ggml.tokens", std::vector<std::string>(20, "x"))).ok());
  for (const size_t count : {0, 19, 21})
    CHECK_THAT(
        format_message(writer.set_array("tokenizer.ggml.tokens", std::vector<std::string>(count, "x"))),
        Contains("vocabulary") && Contains(std::to_string(count) + " entries") && Contains("20 rows"));
  writer = TinyModel().write();
  CHECK_THAT(format_message(writer.erase_tensor("token_embd.weight")),
             Contains("token_embd.weight is missing"));
  writer.tensors.clear();
  CHECK_THAT(format_message(writer), Contains("no tensors"));
  writer.add("token_embd.weight", {640});
  CHECK_THAT(format_message(writer), Contains("token_embd.weight has shape [640]"));
}
}  // namespace g4
