#include "model/read_config.h"

#include <algorithm>

#include "model/key_reader.h"

namespace g4 {
namespace {
constexpr int kMaxLayers = 1024;
constexpr int kMaxHeads = 1024, kMaxHeadDim = 1024;
constexpr int kMaxPositions = 1 << 24;
constexpr int kMaxExperts = 4096;
constexpr int kDefaultContext = 131072;  // the least of the released models
constexpr const char* kArchitecture = "gemma4";

// Architectures that belong to Gemma 4 but are no text model by themselves.
struct Companion {
  const char* architecture;
  const char* advice;
};
constexpr Companion kCompanions[] = {
    {"gemma4-assistant", "it is a drafter; open the model it drafts for"},
    {"clip", "it holds vision and audio towers; open the text model it came with"},
};

StatusOr<std::string> read_architecture(const TensorSource& source) {
  if (!source.has("general.architecture")) return format_error("key general.architecture is missing");
  G4_ASSIGN_OR_RETURN(const std::string_view architecture, source.get_string("general.architecture"));
  if (architecture == kArchitecture) return std::string(architecture);
  const std::string found =
      StrCat("the file's architecture is ", shown_text(architecture), ", not ", kArchitecture);
  for (const Companion& companion : kCompanions)
    if (architecture == companion.architecture)
      return unsupported_error(StrCat(found, ": ", companion.advice));
  return unsupported_error(StrCat(found, ", the one g4 runs"));
}

// Which layers are sliding: one bool per layer, or a number n: every n-th layer is full, and the last one
// always (gemma4.md 8).
std::vector<int> read_sliding_pattern(KeyReader& keys, int layer_count) {
  constexpr const char* kName = "attention.sliding_window_pattern";
  if (keys.is_array(kName)) return keys.per_layer(kName, layer_count, 0, 1);
  const int period = keys.integer(kName, 1, kMaxLayers);
  std::vector<int> sliding(static_cast<size_t>(layer_count));
  for (int i = 0; i < layer_count; ++i)
    sliding[static_cast<size_t>(i)] = (i + 1) % period != 0 && i + 1 != layer_count;
  return sliding;
}

void read_layers(KeyReader& keys, ModelConfig& config) {
  const int layer_count = keys.integer("block_count", 1, kMaxLayers);
  const std::vector<int> sliding = read_sliding_pattern(keys, layer_count);
  const std::vector<int> ffn_dim = keys.per_layer("feed_forward_length", layer_count, 1, kMaxDim);
  const std::vector<int> kv_heads =
      keys.per_layer("attention.head_count_kv", layer_count, 1, config.head_count, config.head_count);
  const int full_dim =
      keys.integer("attention.key_length", 2, kMaxHeadDim, config.hidden_dim / config.head_count);
  const int sliding_dim = keys.integer("attention.key_length_swa", 2, kMaxHeadDim, full_dim);
  // The rotation covers the whole head; which pairs stand still is told by rope_freqs.weight (gemma4.md 2,
  // RoPE).
  for (const char* name : {"attention.value_length", "rope.dimension_count"}) keys.repeats(name, full_dim);
  for (const char* name : {"attention.value_length_swa", "rope.dimension_count_swa"})
    keys.repeats(name, sliding_dim);
  for (size_t i = 0; i < static_cast<size_t>(layer_count); ++i)
    config.layers.push_back(
        {sliding[i] != 0, kv_heads[i], sliding[i] != 0 ? sliding_dim : full_dim, ffn_dim[i]});
  config.shared_kv_layer_count = keys.integer("attention.shared_kv_layers", 0, layer_count - 1, 0);
}

// The vocabulary is as large as the embedding; the token list must agree with it.
StatusOr<int> read_vocab_size(const TensorSource& source) {
  const TensorView* embedding = source.find("token_embd.weight");
  if (embedding == nullptr)
    return format_error(source.tensors().empty()
                            ? "the file has no tensors: it is a vocabulary, not a model"
                            : "token_embd.weight is missing: every model has a token embedding");
  const uint64_t rows = embedding->shape.front();
  if (embedding->shape.size() != 2 || rows > static_cast<uint64_t>(kMaxDim))
    return format_error(StrCat("tensor token_embd.weight has shape ", shape_text(embedding->shape),
                               ", expected [vocabulary, hidden size] with a vocabulary of at most ",
                               kMaxDim));
  constexpr const char* kTokens = "tokenizer.ggml.tokens";
  if (source.has(kTokens) && source.array_length(kTokens) != rows)
    return format_error(StrCat("the vocabulary does not fit the model: ", kTokens, " has ",
                               source.array_length(kTokens), " entries, token_embd.weight has ", rows,
                               " rows"));
  return static_cast<int>(rows);
}

// Within a run of image tokens sliding layers look both ways in the models without per-layer embeddings. No
// released file has a key for that (gemma4.md 8); one that does has the last word.
StatusOr<bool> read_bidirectional_media(const TensorSource& source, const ModelConfig& config) {
  constexpr const char* kKey = "gemma4.attention.bidirectional_media";
  if (!source.has(kKey)) return config.ple_dim == 0;
  return source.get_bool(kKey);
}

// What a single key cannot show.
Status check_layers(const ModelConfig& config) {
  for (int i = 0; i < config.layer_count(); ++i) {
    const LayerConfig& layer = config.layers[static_cast<size_t>(i)];
    if (config.head_count % layer.kv_head_count != 0)
      return format_error(StrCat("layer ", i, " has ", config.head_count, " heads for ", layer.kv_head_count,
                                 " KV heads (attention.head_count_kv), not a multiple"));
    if (layer.head_dim % 2 != 0 || layer.head_dim < 2 || layer.head_dim > kMaxHeadDim)
      return format_error(StrCat("layer ", i, " has a head dim of ", layer.head_dim,
                                 " (attention.key_length), expected an even number from 2 to ", kMaxHeadDim));
    if (config.owns_kv(i)) continue;
    int source = config.first_shared_layer() - 1;
    while (source >= 0 && config.layers[static_cast<size_t>(source)].is_sliding != layer.is_sliding) --source;
    const char* kind = layer.is_sliding ? "sliding" : "full";
    if (source < 0)
      return format_error(StrCat("layer ", i, " shares the K and V of the last ", kind, " layer below layer ",
                                 config.first_shared_layer(), ", but none there is ", kind,
                                 " (attention.shared_kv_layers is ", config.shared_kv_layer_count, ")"));
    if (config.layers[static_cast<size_t>(source)].kv_head_count != layer.kv_head_count)
      return format_error(StrCat("layer ", i, " has ", layer.kv_head_count,
                                 " KV heads (attention.head_count_kv), but layer ", source,
                                 ", whose K and V it shares, has another number"));
  }
  return absl::OkStatus();
}
}  // namespace

StatusOr<ModelConfig> read_config(const TensorSource& source) {
  ModelConfig config;
  G4_ASSIGN_OR_RETURN(config.architecture, read_architecture(source));
  if (source.has("general.name")) {
    G4_ASSIGN_OR_RETURN(const std::string_view name, source.get_string("general.name"));
    config.name = shown_text(name);
  }

  KeyReader keys(source, config.architecture + ".");
  config.hidden_dim = keys.integer("embedding_length", 1, kMaxDim);
  config.head_count = keys.integer("attention.head_count", 1, kMaxHeads);
  read_layers(keys, config);
  config.context_length = keys.integer("context_length", 1, kMaxPositions, kDefaultContext);
  const bool has_sliding = std::any_of(config.layers.begin(), config.layers.end(),
                                       [](const auto& layer) { return layer.is_sliding; });
  if (has_sliding) config.sliding_window = keys.integer("attention.sliding_window", 1, kMaxPositions);
  config.ple_dim = keys.integer("embedding_length_per_layer_input", 0, kMaxDim, 0);
  config.expert_count = keys.integer("expert_count", 0, kMaxExperts, 0);
  if (config.expert_count > 0) {
    config.expert_used_count = keys.integer("expert_used_count", 1, config.expert_count);
    config.expert_ffn_dim = keys.integer("expert_feed_forward_length", 1, kMaxDim);
  }
  config.norm_eps = keys.number("attention.layer_norm_rms_epsilon", 1e-30, 1);
  config.logit_softcap =
      keys.number("final_logit_softcapping", 0, 1e6, 30.0f);  // absent is not none (gemma4.md 8)
  config.rope_base_full = keys.number("rope.freq_base", 2, 1e12, config.rope_base_full);
  config.rope_base_sliding = keys.number("rope.freq_base_swa", 2, 1e12, config.rope_base_sliding);
  G4_RETURN_IF_ERROR(keys.status());

  G4_ASSIGN_OR_RETURN(config.bidirectional_media, read_bidirectional_media(source, config));
  G4_RETURN_IF_ERROR(check_layers(config));
  G4_ASSIGN_OR_RETURN(config.vocab_size, read_vocab_size(source));
  return config;
}
}  // namespace g4
