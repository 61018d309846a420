#include "model/weights.h"

#include <array>

#include "model/tensor_binding.h"
#include "model/tensor_table.h"

namespace g4 {
namespace {
std::string layer_tensor_name(int layer, const char* name) { return StrCat("blk.", layer, ".", name); }

// Makes `count` equal matrices of the one that the tensor is.
void split(MatrixStack& stack, size_t count) {
  if (stack.empty()) return;
  stack.count = count;
  stack.first.rows /= count;
}

class Loader {
 public:
  Loader(const TensorSource& source, const ModelConfig& config) : source_(source), config_(config) {}
  StatusOr<Weights> load();

 private:
  // Finds the tensor of a row, checks it and points the row's field at it.
  template <typename Owner>
  Status bind(const TensorRow<Owner>& row, const std::string& name, int layer, Owner& owner);
  Status bind_field(const TensorView& tensor, Vector& field);
  Status bind_field(const TensorView& tensor, Matrix& field);
  Status bind_field(const TensorView& tensor, MatrixStack& field);
  Status bind_field(const TensorView& tensor, float& field);

  Status bind_fused_qkv(int layer, LayerWeights& weights);
  Status check_absent_v() const;

  const TensorSource& source_;
  const ModelConfig& config_;
  Weights weights_;
};

StatusOr<Weights> Loader::load() {
  for (const TensorRow<Weights>& row : model_tensors()) G4_RETURN_IF_ERROR(bind(row, row.name, 0, weights_));
  if (weights_.output.empty()) weights_.output = weights_.token_embd;
  weights_.layers.resize(config_.layers.size());
  for (int i = 0; i < config_.layer_count(); ++i) {
    LayerWeights& layer = weights_.layers[static_cast<size_t>(i)];
    G4_RETURN_IF_ERROR(bind_fused_qkv(i, layer));
    for (const TensorRow<LayerWeights>& row : layer_tensors())
      G4_RETURN_IF_ERROR(bind(row, layer_tensor_name(i, row.name), i, layer));
  }
  G4_RETURN_IF_ERROR(check_absent_v());
  const size_t X = static_cast<size_t>(config_.expert_count), L = config_.layers.size();
  split(weights_.ple_model_proj, L);
  for (LayerWeights& layer : weights_.layers) {
    split(layer.expert_gate_up, 2 * X);
    split(layer.expert_down, X);
  }
  return std::move(weights_);
}

template <typename Owner>
Status Loader::bind(const TensorRow<Owner>& row, const std::string& name, int layer, Owner& owner) {
  const Presence wanted = presence(row.need, config_, layer);
  if (wanted == Presence::kUnused) return absl::OkStatus();
  if (const auto* field = std::get_if<Matrix Owner::*>(&row.field);
      field != nullptr && !(owner.**field).empty())
    return absl::OkStatus();  // a part of a fused tensor
  const TensorView* tensor = source_.find(name);
  if (tensor == nullptr) {
    if (wanted == Presence::kOptional) return absl::OkStatus();
    return format_error(StrCat(name, " is missing: ", reason(row.need, config_, layer)));
  }
  std::vector<uint64_t> expected;
  for (const Dim dim : row.shape)
    if (dim != Dim::kNone) expected.push_back(dim_value(dim, config_, layer));
  if (!same_shape(tensor->shape, expected))
    return format_error(StrCat("tensor ", name, " has shape ", shape_text(tensor->shape), ", expected ",
                               shape_text(expected)));
  weights_.mapped_bytes += tensor->size_bytes;
  return std::visit([&](auto field) { return bind_field(*tensor, owner.*field); }, row.field);
}

Status Loader::bind_field(const TensorView& tensor, Matrix& field) {
  field = as_matrix(tensor);
  return absl::OkStatus();
}

Status Loader::bind_field(const TensorView& tensor, MatrixStack& field) {
  field = {as_matrix(tensor), 1};
  return absl::OkStatus();
}

Status Loader::bind_field(const TensorView& tensor, Vector& field) {
  return bind_vector(tensor, field, weights_.copies);
}

Status Loader::bind_field(const TensorView& tensor, float& field) {
  Vector value;
  G4_RETURN_IF_ERROR(bind_field(tensor, value));
  field = value[0];
  return absl::OkStatus();
}

// Some files hold the rows of Q, K and V in one tensor, in this order (gemma4.md 7); without V where it is
// the raw K.
Status Loader::bind_fused_qkv(int layer, LayerWeights& weights) {
  const TensorView* tensor = source_.find(layer_tensor_name(layer, "attn_qkv.weight"));
  if (tensor == nullptr || source_.find(layer_tensor_name(layer, "attn_q.weight")) != nullptr)
    return absl::OkStatus();
  const uint64_t q = dim_value(Dim::kHE, config_, layer), kv = dim_value(Dim::kKE, config_, layer),
                 d = dim_value(Dim::kD, config_, layer);
  const bool owns = config_.owns_kv(layer);
  const auto has_rows = [&](uint64_t rows) { return same_shape(tensor->shape, std::array{rows, d}); };
  if (!has_rows(q + 2 * kv) && !has_rows(q + kv) && !(has_rows(q) && !owns))
    return format_error(StrCat("tensor ", tensor->name, " has shape ", shape_text(tensor->shape),
                               ", expected ", shape_text(std::array{q + 2 * kv, d}),
                               " for the rows of Q, K and V"));
  const Matrix all = as_matrix(*tensor);
  weights.attn_q = all.row_range(0, q);
  if (owns) weights.attn_k = all.row_range(q, kv);
  if (owns && all.rows > q + kv) weights.attn_v = all.row_range(q + kv, kv);
  weights_.mapped_bytes += tensor->size_bytes;
  return absl::OkStatus();
}

// An owning layer without V takes the raw K for it (gemma4.md 2, layer step 3). That is so in all full layers
// of a model without per-layer embeddings, or in none; anything else is a file that lost a tensor.
Status Loader::check_absent_v() const {
  const auto lacks_v = [&](int i) { return weights_.layers[static_cast<size_t>(i)].attn_v.empty(); };
  const auto is_full = [&](int i) { return !config_.layers[static_cast<size_t>(i)].is_sliding; };
  int full_with_v = -1;
  for (int i = 0; i < config_.first_shared_layer(); ++i)
    if (is_full(i) && !lacks_v(i)) full_with_v = i;
  for (int i = 0; i < config_.first_shared_layer(); ++i) {
    if (!lacks_v(i)) continue;
    const std::string missing =
        StrCat(layer_tensor_name(i, "attn_v.weight"), " is missing: layer ", i, " owns its K and V, and ");
    if (!is_full(i)) return format_error(StrCat(missing, "only a full-attention layer may use its K as V"));
    if (config_.ple_dim > 0)
      return format_error(StrCat(missing, "no model with per-layer embeddings uses K as V"));
    if (full_with_v >= 0)
      return format_error(StrCat(missing, "full-attention layer ", full_with_v, " has a V of its own too"));
  }
  return absl::OkStatus();
}
}  // namespace

StatusOr<Weights> load_weights(const TensorSource& source, const ModelConfig& config) {
  return Loader(source, config).load();
}
}  // namespace g4
