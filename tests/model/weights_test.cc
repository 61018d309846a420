#include "model/weights.h"

#include <catch2/catch.hpp>

#include "model/read_config.h"
#include "tests/model/tiny_model.h"
#include "tests/support/test_data.h"

namespace g4 {
namespace {
using Catch::Contains;

Status status_of(const GgufWriter& writer) {
  const GgufInMemory file(writer);
  REQUIRE(file.ok());
  const auto config = read_config(*file);
  return config.ok() ? load_weights(*file, *config).status() : config.status();
}
std::string format_message(const GgufWriter& writer) {
  const Status status = status_of(writer);
  REQUIRE(absl::IsDataLoss(status));
  return std::string(status.message());
}
// A parsed file and its weights.
struct Loaded {
  explicit Loaded(const GgufWriter& writer) : file(writer), weights(read(*file, config)) {}
  static Weights read(const TensorSource& source, ModelConfig& config) {
    config = *read_config(source);
    auto weights = load_weights(source, config);
    INFO(weights.status().ToString());
    REQUIRE(weights.ok());
    return *std::move(weights);
  }
  const TensorView& view(const std::string& name) const { return *file->find(name); }
  ModelConfig config;
  GgufInMemory file;
  Weights weights;
};
void check_matrix(const Matrix& matrix, const TensorView& tensor) {
  INFO(tensor.name);
  CHECK(matrix.data == tensor.data);
  CHECK(matrix.type == tensor.type);
  CHECK(matrix.rows == tensor.shape[0]);
  CHECK(matrix.cols == tensor.shape[1]);
}
void check_vector(Vector vector, const TensorView& tensor) {
  INFO(tensor.name);
  CHECK(reinterpret_cast<const uint8_t*>(vector.data()) == tensor.data);
  CHECK(vector.size() == tensor.shape[0]);
}
bool is_optional(const std::string& name) {
  return name == "rope_freqs.weight" || name.find("layer_output_scale") != std::string::npos;
}
// The PLE table belongs to DiskEmbedding.
bool is_ple_table(const std::string& name) { return name == "per_layer_token_embd.weight"; }
const std::vector<TinyModel>& all_kinds() {
  static const std::vector<TinyModel> kinds = {TinyModel(), tiny_dense(), tiny_mixture()};
  return kinds;
}
}  // namespace

TEST_CASE("weights: views into the file, in place", "[model]") {
  GgufWriter writer = TinyModel().write();
  writer.tensor("blk.1.layer_output_scale.weight").data = bytes_of(0.75f);
  const Loaded loaded(writer);
  const Weights& w = loaded.weights;
  check_matrix(w.token_embd, loaded.view("token_embd.weight"));
  CHECK(w.output.data == w.token_embd.data);
  check_vector(w.output_norm, loaded.view("output_norm.weight"));
  check_vector(w.rope_freqs, loaded.view("rope_freqs.weight"));
  CHECK(w.ple_model_proj.count == 5);
  CHECK(w.ple_model_proj[1].rows == 8);
  CHECK(w.ple_model_proj[1].cols == 32);
  CHECK(w.ple_model_proj[1].data == loaded.view("per_layer_model_proj.weight").data + 8 * 32 * 4);
  check_vector(w.ple_proj_norm, loaded.view("per_layer_proj_norm.weight"));
  REQUIRE(w.layers.size() == 5);
  const LayerWeights& layer = w.layers[1];
  check_vector(layer.attn_norm, loaded.view("blk.1.attn_norm.weight"));
  check_matrix(layer.attn_q, loaded.view("blk.1.attn_q.weight"));
  check_vector(layer.attn_q_norm, loaded.view("blk.1.attn_q_norm.weight"));
  check_matrix(layer.attn_k, loaded.view("blk.1.attn_k.weight"));
  check_vector(layer.attn_k_norm, loaded.view("blk.1.attn_k_norm.weight"));
  check_matrix(layer.attn_v, loaded.view("blk.1.attn_v.weight"));
  check_matrix(layer.attn_output, loaded.view("blk.1.attn_output.weight"));
  check_vector(layer.post_attention_norm, loaded.view("blk.1.post_attention_norm.weight"));
  check_vector(layer.ffn_norm, loaded.view("blk.1.ffn_norm.weight"));
  check_matrix(layer.ffn_gate, loaded.view("blk.1.ffn_gate.weight"));
  check_matrix(layer.ffn_up, loaded.view("blk.1.ffn_up.weight"));
  check_matrix(layer.ffn_down, loaded.view("blk.1.ffn_down.weight"));
  check_vector(layer.post_ffw_norm, loaded.view("blk.1.post_ffw_norm.weight"));
  check_matrix(layer.ple_gate, loaded.view("blk.1.inp_gate.weight"));
  check_matrix(layer.ple_proj, loaded.view("blk.1.proj.weight"));
  check_vector(layer.ple_post_norm, loaded.view("blk.1.post_norm.weight"));
  CHECK(layer.output_scale == 0.75f);
  CHECK(layer.router.empty());
  CHECK(layer.expert_gate_up.empty());
  CHECK(w.layers[3].attn_k.empty());
  CHECK(w.layers[3].attn_k_norm.empty());
  CHECK(w.layers[3].attn_v.empty());
  CHECK(w.layers[3].ffn_gate.rows == 64);
  CHECK(w.copies.empty());

  uint64_t bytes = 0;
  for (const TensorView& tensor : loaded.file->tensors())
    bytes += is_ple_table(tensor.name) ? 0 : tensor.size_bytes;
  CHECK(w.mapped_bytes == bytes);
}

TEST_CASE("weights: a mixture of experts", "[model]") {
  const Loaded loaded(tiny_mixture().write());
  const LayerWeights& layer = loaded.weights.layers[2];
  check_matrix(layer.router, loaded.view("blk.2.ffn_gate_inp.weight"));
  check_vector(layer.router_scale, loaded.view("blk.2.ffn_gate_inp.scale"));
  check_vector(layer.expert_scale, loaded.view("blk.2.ffn_down_exps.scale"));
  check_vector(layer.pre_ffw_norm_2, loaded.view("blk.2.pre_ffw_norm_2.weight"));
  check_vector(layer.post_ffw_norm_1, loaded.view("blk.2.post_ffw_norm_1.weight"));
  check_vector(layer.post_ffw_norm_2, loaded.view("blk.2.post_ffw_norm_2.weight"));
  CHECK(layer.expert_gate_up.count == 10);
  CHECK(layer.expert_gate_up[8].rows == 24);
  CHECK(layer.expert_gate_up[8].cols == 32);
  CHECK(layer.expert_gate_up[8].data == loaded.view("blk.2.ffn_gate_up_exps.weight").data + 4 * 48 * 32 * 4);
  CHECK(layer.expert_down[1].rows == 32);
  CHECK(layer.expert_down[1].cols == 24);
  CHECK(layer.ple_gate.empty());
  CHECK(layer.attn_v.empty());
  CHECK_FALSE(loaded.weights.layers[1].attn_v.empty());
}

TEST_CASE("weights: the reference models load", "[model]") {
  for (const char* path :
       {"tiny/e2b-tiny/model.gguf", "tiny/e4b-tiny/model.gguf", "tiny/dense31b-tiny/model.gguf",
        "tiny/moe26b-tiny/model.gguf", "tiny/quant-tiny/model-MIX.gguf", "tiny/quant-tiny/model-Q4_K.gguf"}) {
    INFO(path);
    auto file = MappedFile::open(golden_path(path));
    REQUIRE(file.ok());
    const auto source = open_gguf(*file);
    REQUIRE(source.ok());
    const auto config = read_config(**source);
    REQUIRE(config.ok());
    const auto weights = load_weights(**source, *config);
    INFO(weights.status().ToString());
    REQUIRE(weights.ok());
    // All that is in these files is used, but for the PLE table.
    uint64_t bytes = 0;
    for (const TensorView& tensor : (*source)->tensors())
      bytes += is_ple_table(tensor.name) ? 0 : tensor.size_bytes;
    CHECK(weights->mapped_bytes == bytes);
  }
}

TEST_CASE("weights: the published sizes load, with data that is a hole", "[model]") {
  const TempDir dir;
  for (const TinyModel& model : {real_e2b(), real_26b()}) {
    model.write().write_sparse(dir.path("model.gguf"));
    auto file = MappedFile::open(dir.path("model.gguf"));
    REQUIRE(file.ok());
    const auto source = open_gguf(*file);
    REQUIRE(source.ok());
    const auto weights = load_weights(**source, *read_config(**source));
    INFO(weights.status().ToString());
    REQUIRE(weights.ok());
    CHECK(weights->layers.size() == model.layer_count());
  }
}

TEST_CASE("weights: every tensor that is needed is named when it is missing", "[model]") {
  for (const TinyModel& model : all_kinds()) {
    const GgufWriter whole = model.write();
    REQUIRE(status_of(whole).ok());
    for (const GgufTensor& tensor : whole.tensors) {
      if (is_optional(tensor.name) || is_ple_table(tensor.name)) continue;
      GgufWriter writer = whole;
      CHECK_THAT(format_message(writer.erase_tensor(tensor.name)), Contains(tensor.name + " is missing: "));
    }
  }
  CHECK_THAT(format_message(TinyModel().write().erase_tensor("blk.2.attn_k.weight")),
             Contains("blk.2.attn_k.weight is missing: layer 2 owns its K and V"));
}

TEST_CASE("weights: a tensor of another shape is named with both shapes", "[model]") {
  for (const TinyModel& model : all_kinds()) {
    const GgufWriter whole = model.write();
    for (size_t i = 0; i < whole.tensors.size(); ++i) {
      const std::string name = whole.tensors[i].name;
      if (is_ple_table(name)) continue;
      const std::string expected = shape_text(whole.tensors[i].shape);
      GgufWriter writer = whole;
      writer.tensors[i].shape.back() *= 2;
      writer.tensors[i].size_bytes *= 2;
      CHECK_THAT(format_message(writer),
                 Contains("tensor " + name + " has shape " + shape_text(writer.tensors[i].shape)) &&
                     Contains("expected " + expected));
      if (whole.tensors[i].shape.size() == 1 || name == "token_embd.weight") continue;
      // As many values, but arranged otherwise.
      writer = whole;
      std::swap(writer.tensors[i].shape.front(), writer.tensors[i].shape.back());
      if (writer.tensors[i].shape != whole.tensors[i].shape)
        CHECK_THAT(format_message(writer), Contains(name));
      writer.tensors[i].shape = {whole.tensors[i].size_bytes / 4};
      CHECK_THAT(format_message(writer), Contains(name));
    }
  }
}

TEST_CASE("weights: matrices of any type, vectors only of float types", "[model]") {
  TinyModel model;
  model.hidden = model.head_dim_full = model.ple = 32;  // whole blocks
  model.ffn = model.ffn_shared = 64;
  for (const DType type :
       {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0}) {
    model.type = type;
    const Loaded loaded(model.write());
    CHECK(loaded.weights.layers[0].ffn_down.type == type);
  }
  for (const GgufTensor& tensor : model.write().tensors) {
    if (tensor.shape.size() != 1 || tensor.shape[0] % 32 != 0) continue;
    GgufWriter writer = model.write();
    writer.tensor(tensor.name).type = dtype_info(DType::kQ8_0).gguf_id;
    CHECK_THAT(format_message(writer),
               Contains("tensor " + tensor.name + " has type Q8_0, expected F32, F16 or BF16"));
  }
}

TEST_CASE("weights: half-precision and unaligned vectors become float32 copies", "[model]") {
  GgufWriter writer = TinyModel().write();
  GgufTensor& norm = writer.tensor("output_norm.weight");
  norm.type = dtype_info(DType::kF16).gguf_id;
  norm.data = std::string("\x00\x3c\x00\xc0", 4);  // 1, -2
  GgufTensor& scale = writer.tensor("blk.0.layer_output_scale.weight");
  scale.type = dtype_info(DType::kBF16).gguf_id;
  scale.data = std::string("\x40\x3f", 2);  // 0.75
  const Loaded loaded(writer);
  REQUIRE(loaded.weights.output_norm.size() == 32);
  CHECK(loaded.weights.output_norm[0] == 1.0f);
  CHECK(loaded.weights.output_norm[1] == -2.0f);
  CHECK(loaded.weights.layers[0].output_scale == 0.75f);

  const std::string file = TinyModel().write().build();
  std::vector<uint8_t> shifted(file.size() + 1);
  std::copy(file.begin(), file.end(), shifted.begin() + 1);
  const auto source = parse_gguf(std::span<const uint8_t>(shifted).subspan(1));
  REQUIRE(source.ok());
  const auto weights = load_weights(**source, *read_config(**source));
  REQUIRE(weights.ok());
  CHECK(weights->copies.size() > 0);
  CHECK(reinterpret_cast<uintptr_t>(weights->output_norm.data()) % alignof(float) == 0);
}

TEST_CASE("weights: what may be absent, and what it means", "[model]") {
  GgufWriter writer = TinyModel().write();
  writer.erase_tensor("rope_freqs.weight").erase_tensor("blk.2.layer_output_scale.weight");
  const Loaded without(writer);
  CHECK(without.weights.rope_freqs.empty());
  CHECK(without.weights.layers[2].output_scale == 1.0f);
  writer.add("output.weight", {20, 32});
  const Loaded with(writer);
  check_matrix(with.weights.output, with.view("output.weight"));
  CHECK(with.weights.output.data != with.weights.token_embd.data);
}

TEST_CASE("weights: K and V tensors of shared layers may be there, and are not used", "[model]") {
  GgufWriter writer = TinyModel().write();
  writer.add("blk.3.attn_k.weight", {16, 32});
  writer.add("blk.3.attn_v.weight", {16, 32});
  writer.add("blk.3.attn_k_norm.weight", {8});
  const Loaded loaded(writer);
  CHECK(loaded.weights.layers[3].attn_k.empty());
  CHECK(loaded.weights.layers[3].attn_v.empty());
  CHECK(loaded.weights.layers[3].attn_k_norm.empty());
  CHECK(loaded.weights.mapped_bytes == Loaded(TinyModel().write()).weights.mapped_bytes);
}

TEST_CASE("weights: where a layer may use its K as V", "[model]") {
  // All full layers of a model without per-layer embeddings: tiny_dense() is such a model, and loads.
  CHECK(Loaded(tiny_dense().write()).weights.layers[5].attn_v.empty());
  CHECK_THAT(format_message(tiny_dense().write().erase_tensor("blk.4.attn_v.weight")),
             Contains("blk.4.attn_v.weight is missing: layer 4 owns its K and V") &&
                 Contains("only a full-attention layer"));
  // Not one full layer among others.
  TinyModel model = tiny_dense();
  model.k_is_v = false;
  CHECK_THAT(format_message(model.write().erase_tensor("blk.2.attn_v.weight")),
             Contains("blk.2.attn_v.weight is missing: layer 2 owns its K and V") && Contains("layer 5"));
  // Not in models with per-layer embeddings.
  CHECK_THAT(format_message(TinyModel().write().erase_tensor("blk.2.attn_v.weight")),
             Contains("blk.2.attn_v.weight is missing: layer 2 owns its K and V"));
}

TEST_CASE("weights: Q, K and V in one tensor", "[model]") {
  const auto fuse = [](GgufWriter& writer, int layer, uint64_t rows) {
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    for (const char* name : {"attn_q.weight", "attn_k.weight", "attn_v.weight"}) {
      const auto has = [&](const GgufTensor& tensor) { return tensor.name == prefix + name; };
      if (std::any_of(writer.tensors.begin(), writer.tensors.end(), has)) writer.erase_tensor(prefix + name);
    }
    writer.add(prefix + "attn_qkv.weight", {rows, 32});
  };
  GgufWriter writer = TinyModel().write();
  fuse(writer, 0, 32 + 16 + 16);
  fuse(writer, 2, 64 + 16 + 16);
  fuse(writer, 3, 32 + 16 + 16);  // a shared layer
  fuse(writer, 4, 64);
  const Loaded loaded(writer);
  const LayerWeights& layer = loaded.weights.layers[0];
  const uint8_t* data = loaded.view("blk.0.attn_qkv.weight").data;
  CHECK(layer.attn_q.rows == 32);
  CHECK(layer.attn_q.data == data);
  CHECK(layer.attn_k.rows == 16);
  CHECK(layer.attn_k.data == data + 32 * 32 * 4);
  CHECK(layer.attn_v.rows == 16);
  CHECK(layer.attn_v.data == data + 48 * 32 * 4);
  CHECK(loaded.weights.layers[2].attn_q.rows == 64);
  CHECK(loaded.weights.layers[3].attn_q.rows == 32);
  CHECK(loaded.weights.layers[3].attn_k.empty());
  CHECK(loaded.weights.layers[4].attn_q.rows == 64);

  // K = V: the rows of Q and K alone.
  writer = tiny_dense().write();
  fuse(writer, 2, 64 + 16);
  fuse(writer, 5, 64 + 16);
  CHECK(Loaded(writer).weights.layers[5].attn_k.rows == 16);
  CHECK(Loaded(writer).weights.layers[5].attn_v.empty());

  for (const uint64_t rows : {32u, 48u, 63u, 65u}) {  // 48: V is lost
    writer = TinyModel().write();
    fuse(writer, 0, rows);
    CHECK_THAT(format_message(writer),
               Contains("blk.0.attn_qkv.weight has shape") || Contains("blk.0.attn_v.weight is missing"));
  }
}

TEST_CASE("weights: writers may drop outer dimensions of one", "[model]") {
  TinyModel model = tiny_mixture();
  model.experts = model.experts_used = 1;
  GgufWriter writer = model.write();
  for (GgufTensor& tensor : writer.tensors)
    while (tensor.shape.size() > 1 && tensor.shape.front() == 1) tensor.shape.erase(tensor.shape.begin());
  const Loaded loaded(writer);
  CHECK(loaded.weights.layers[0].expert_gate_up[0].rows == 24);
  CHECK(loaded.weights.layers[0].router.rows == 1);
}
}  // namespace g4
