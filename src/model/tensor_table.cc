#include "model/tensor_table.h"

namespace g4 {
namespace {
// clang-format off
constexpr TensorRow<Weights> kModelTensors[] = {
    {&Weights::token_embd,     "token_embd.weight",           {Dim::kV, Dim::kD},  Need::kAlways},
    {&Weights::output,         "output.weight",               {Dim::kV, Dim::kD},  Need::kOptional},
    {&Weights::output_norm,    "output_norm.weight",          {Dim::kD},           Need::kAlways},
    {&Weights::rope_freqs,     "rope_freqs.weight",           {Dim::kHalfE},       Need::kOptional},
    {&Weights::ple_model_proj, "per_layer_model_proj.weight", {Dim::kLP, Dim::kD}, Need::kPle},
    {&Weights::ple_proj_norm,  "per_layer_proj_norm.weight",  {Dim::kP},           Need::kPle},
};

constexpr TensorRow<LayerWeights> kLayerTensors[] = {
    {&LayerWeights::attn_norm,           "attn_norm.weight",           {Dim::kD},                       Need::kAlways},
    {&LayerWeights::attn_q,              "attn_q.weight",              {Dim::kHE, Dim::kD},             Need::kAlways},
    {&LayerWeights::attn_q_norm,         "attn_q_norm.weight",         {Dim::kE},                       Need::kAlways},
    {&LayerWeights::attn_k,              "attn_k.weight",              {Dim::kKE, Dim::kD},             Need::kOwnsKv},
    {&LayerWeights::attn_k_norm,         "attn_k_norm.weight",         {Dim::kE},                       Need::kOwnsKv},
    {&LayerWeights::attn_v,              "attn_v.weight",              {Dim::kKE, Dim::kD},             Need::kOwnsKvMaybe},
    {&LayerWeights::attn_output,         "attn_output.weight",         {Dim::kD, Dim::kHE},             Need::kAlways},
    {&LayerWeights::post_attention_norm, "post_attention_norm.weight", {Dim::kD},                       Need::kAlways},
    {&LayerWeights::ffn_norm,            "ffn_norm.weight",            {Dim::kD},                       Need::kAlways},
    {&LayerWeights::ffn_gate,            "ffn_gate.weight",            {Dim::kF, Dim::kD},              Need::kAlways},
    {&LayerWeights::ffn_up,              "ffn_up.weight",              {Dim::kF, Dim::kD},              Need::kAlways},
    {&LayerWeights::ffn_down,            "ffn_down.weight",            {Dim::kD, Dim::kF},              Need::kAlways},
    {&LayerWeights::post_ffw_norm,       "post_ffw_norm.weight",       {Dim::kD},                       Need::kAlways},
    {&LayerWeights::router,              "ffn_gate_inp.weight",        {Dim::kX, Dim::kD},              Need::kExperts},
    {&LayerWeights::router_scale,        "ffn_gate_inp.scale",         {Dim::kD},                       Need::kExperts},
    {&LayerWeights::pre_ffw_norm_2,      "pre_ffw_norm_2.weight",      {Dim::kD},                       Need::kExperts},
    {&LayerWeights::post_ffw_norm_1,     "post_ffw_norm_1.weight",     {Dim::kD},                       Need::kExperts},
    {&LayerWeights::post_ffw_norm_2,     "post_ffw_norm_2.weight",     {Dim::kD},                       Need::kExperts},
    {&LayerWeights::expert_gate_up,      "ffn_gate_up_exps.weight",    {Dim::kX, Dim::kTwoFx, Dim::kD}, Need::kExperts},
    {&LayerWeights::expert_down,         "ffn_down_exps.weight",       {Dim::kX, Dim::kD, Dim::kFx},    Need::kExperts},
    {&LayerWeights::expert_scale,        "ffn_down_exps.scale",        {Dim::kX},                       Need::kExperts},
    {&LayerWeights::ple_gate,            "inp_gate.weight",            {Dim::kP, Dim::kD},              Need::kPle},
    {&LayerWeights::ple_proj,            "proj.weight",                {Dim::kD, Dim::kP},              Need::kPle},
    {&LayerWeights::ple_post_norm,       "post_norm.weight",           {Dim::kD},                       Need::kPle},
    {&LayerWeights::output_scale,        "layer_output_scale.weight",  {Dim::kOne},                     Need::kOptional},
};
// clang-format on
}  // namespace

std::span<const TensorRow<Weights>> model_tensors() { return kModelTensors; }
std::span<const TensorRow<LayerWeights>> layer_tensors() { return kLayerTensors; }

uint64_t dim_value(Dim dim, const ModelConfig& config, int layer_index) {
  const LayerConfig& layer = config.layers[static_cast<size_t>(layer_index)];
  // Every factor is at most 2^20 (read_config), so no product overflows.
  const auto product = [](int a, int b) { return static_cast<uint64_t>(a) * static_cast<uint64_t>(b); };
  switch (dim) {
    case Dim::kNone:
      return 0;
    case Dim::kOne:
      return 1;
    case Dim::kD:
      return product(config.hidden_dim, 1);
    case Dim::kV:
      return product(config.vocab_size, 1);
    case Dim::kE:
      return product(layer.head_dim, 1);
    case Dim::kHE:
      return product(config.head_count, layer.head_dim);
    case Dim::kKE:
      return product(layer.kv_head_count, layer.head_dim);
    case Dim::kF:
      return product(layer.ffn_dim, 1);
    case Dim::kP:
      return product(config.ple_dim, 1);
    case Dim::kLP:
      return product(config.layer_count(), config.ple_dim);
    case Dim::kX:
      return product(config.expert_count, 1);
    case Dim::kFx:
      return product(config.expert_ffn_dim, 1);
    case Dim::kTwoFx:
      return product(2, config.expert_ffn_dim);
    case Dim::kHalfE:
      for (const LayerConfig& other : config.layers)
        if (!other.is_sliding) return product(other.head_dim / 2, 1);
      return product(layer.head_dim / 2, 1);  // no full layer: nobody reads it
  }
  return 0;
}

Presence presence(Need need, const ModelConfig& config, int layer) {
  const auto when = [](bool condition, Presence then) { return condition ? then : Presence::kUnused; };
  switch (need) {
    case Need::kAlways:
      return Presence::kRequired;
    case Need::kOptional:
      return Presence::kOptional;
    case Need::kOwnsKv:
      return when(config.owns_kv(layer), Presence::kRequired);
    case Need::kOwnsKvMaybe:
      return when(config.owns_kv(layer), Presence::kOptional);
    case Need::kPle:
      return when(config.ple_dim > 0, Presence::kRequired);
    case Need::kExperts:
      return when(config.expert_count > 0, Presence::kRequired);
  }
  return Presence::kUnused;
}

std::string reason(Need need, const ModelConfig& config, int layer) {
  switch (need) {
    case Need::kOwnsKv:
      return StrCat("layer ", layer, " owns its K and V");
    case Need::kPle:
      return StrCat("the model has per-layer embeddings of width ", config.ple_dim);
    case Need::kExperts:
      return StrCat("the model is a mixture of ", config.expert_count, " experts");
    default:
      return "every Gemma 4 model has it";
  }
}
}  // namespace g4
