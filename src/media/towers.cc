#include "media/towers.h"

#include <algorithm>
#include <array>
#include <span>
#include <variant>

#include "io/gguf.h"
#include "media/image.h"
#include "media/mel.h"
#include "model/key_reader.h"
#include "model/tensor_binding.h"

namespace g4 {
namespace {
constexpr int kMaxLayers = 1024, kMaxHeads = 1024, kMaxHidden = 1 << 16;
constexpr uint64_t kMaxConvChannels = 4096;

// Dimensions by letter; kAny is any number.
enum class Dim : uint8_t { kNone, kAny, kTwo, kD, kH, kTwoH, kF, kE, kHeads, kTaps };

template <typename Owner>
struct Row {
  std::variant<Vector Owner::*, Matrix Owner::*, ClippedMatrix Owner::*> field;
  const char* name;          // of a layer's tensor what follows "v.blk.N."
  std::array<Dim, 3> shape;  // outermost first
};

// clang-format off
constexpr Row<VisionLayer> kVisionLayer[] = {
    {&VisionLayer::input_norm,          "ln1",            {Dim::kH}},
    {&VisionLayer::q,                   "attn_q",         {Dim::kHeads, Dim::kH}},
    {&VisionLayer::k,                   "attn_k",         {Dim::kHeads, Dim::kH}},
    {&VisionLayer::v,                   "attn_v",         {Dim::kHeads, Dim::kH}},
    {&VisionLayer::q_norm,              "attn_q_norm",    {Dim::kE}},
    {&VisionLayer::k_norm,              "attn_k_norm",    {Dim::kE}},
    {&VisionLayer::attn_output,         "attn_out",       {Dim::kH, Dim::kHeads}},
    {&VisionLayer::post_attention_norm, "attn_post_norm", {Dim::kH}},
    {&VisionLayer::pre_ffw_norm,        "ln2",            {Dim::kH}},
    {&VisionLayer::ffn_gate,            "ffn_gate",       {Dim::kF, Dim::kH}},
    {&VisionLayer::ffn_up,              "ffn_up",         {Dim::kF, Dim::kH}},
    {&VisionLayer::ffn_down,            "ffn_down",       {Dim::kH, Dim::kF}},
    {&VisionLayer::post_ffw_norm,       "ffn_post_norm",  {Dim::kH}},
};
constexpr Row<VisionWeights> kVision[] = {
    {&VisionWeights::position_embedding, "v.position_embd",     {Dim::kTwo, Dim::kAny, Dim::kH}},
    {&VisionWeights::projection,         "mm.input_projection", {Dim::kD, Dim::kH}},
};
constexpr Row<AudioFeedForward> kFeedForwardFirst[] = {
    {&AudioFeedForward::norm,      "ffn_norm",      {Dim::kH}},
    {&AudioFeedForward::up,        "ffn_up",        {Dim::kF, Dim::kH}},
    {&AudioFeedForward::down,      "ffn_down",      {Dim::kH, Dim::kF}},
    {&AudioFeedForward::post_norm, "ffn_post_norm", {Dim::kH}},
};
constexpr Row<AudioFeedForward> kFeedForwardLast[] = {
    {&AudioFeedForward::norm,      "ffn_norm_1",      {Dim::kH}},
    {&AudioFeedForward::up,        "ffn_up_1",        {Dim::kF, Dim::kH}},
    {&AudioFeedForward::down,      "ffn_down_1",      {Dim::kH, Dim::kF}},
    {&AudioFeedForward::post_norm, "ffn_post_norm_1", {Dim::kH}},
};
constexpr Row<AudioLayer> kAudioLayer[] = {
    {&AudioLayer::attn_norm,      "attn_pre_norm",  {Dim::kH}},
    {&AudioLayer::q,              "attn_q",         {Dim::kH, Dim::kH}},
    {&AudioLayer::k,              "attn_k",         {Dim::kH, Dim::kH}},
    {&AudioLayer::v,              "attn_v",         {Dim::kH, Dim::kH}},
    {&AudioLayer::relative_k,     "attn_k_rel",     {Dim::kH, Dim::kH}},
    {&AudioLayer::per_dim_scale,  "per_dim_scale",  {Dim::kE}},
    {&AudioLayer::attn_output,    "attn_out",       {Dim::kH, Dim::kH}},
    {&AudioLayer::attn_post_norm, "attn_post_norm", {Dim::kH}},
    {&AudioLayer::conv_norm,      "conv_norm",      {Dim::kH}},
    {&AudioLayer::conv_in,        "conv_pw1",       {Dim::kTwoH, Dim::kH}},
    {&AudioLayer::conv_depthwise, "conv_dw",        {Dim::kH, Dim::kTaps}},
    {&AudioLayer::conv_mid_norm,  "norm_conv",      {Dim::kH}},
    {&AudioLayer::conv_out,       "conv_pw2",       {Dim::kH, Dim::kH}},
    {&AudioLayer::output_norm,    "ln2",            {Dim::kH}},
};
constexpr Row<AudioWeights> kAudio[] = {
    {&AudioWeights::input_projection, "a.input_projection",    {Dim::kH, Dim::kAny}},
    {&AudioWeights::output,           "a.pre_encode.out",      {Dim::kAny, Dim::kH}},
    {&AudioWeights::projection,       "mm.a.input_projection", {Dim::kD, Dim::kAny}},
};
// clang-format on

class Loader {
 public:
  Loader(const TensorSource& source, int text_hidden_dim)
      : source_(source), text_dim_(static_cast<uint64_t>(text_hidden_dim)) {}
  StatusOr<Towers> load();

 private:
  Status load_vision();
  Status load_audio();
  Status load_subsampling();
  Status check_projector(const char* tower, const char* expected) const;
  // Reads the sizes that both towers have.
  template <typename Tower>
  Status read_sizes(KeyReader& keys, Tower& tower);
  template <typename Owner, size_t N>
  Status bind(const Row<Owner> (&rows)[N], const std::string& prefix, Owner& owner);
  Status bind_field(const TensorView& tensor, const std::string&, Vector& field) {
    return bind_vector(tensor, field, towers_.copies);
  }
  Status bind_field(const TensorView& tensor, const std::string&, Matrix& field) {
    field = as_matrix(tensor);
    return absl::OkStatus();
  }
  Status bind_field(const TensorView& tensor, const std::string& name, ClippedMatrix& field);
  Status bind_kernel(const std::string& name, std::array<uint64_t, 4> shape, Matrix& field);
  StatusOr<const TensorView*> find(const std::string& name) const;
  Status bind_vector_of(const std::string& name, uint64_t count, Vector& field);
  uint64_t dim_value(Dim dim) const;

  const TensorSource& source_;
  const uint64_t text_dim_;
  uint64_t hidden_ = 0, ffn_ = 0, head_dim_ = 0, heads_ = 0;  // of the tower being loaded
  Towers towers_;
};

StatusOr<Towers> Loader::load() {
  G4_ASSIGN_OR_RETURN(const std::string_view architecture, source_.get_string("general.architecture"));
  if (architecture != "clip")
    return unsupported_error(
        StrCat("the file's architecture is ", shown_text(architecture), ", not clip: it is no mmproj file"));
  const auto has = [&](const char* key) -> StatusOr<bool> {
    return source_.has(key) ? source_.get_bool(key) : StatusOr<bool>(false);
  };
  G4_ASSIGN_OR_RETURN(const bool vision, has("clip.has_vision_encoder"));
  G4_ASSIGN_OR_RETURN(const bool audio, has("clip.has_audio_encoder"));
  if (!vision && !audio) return format_error("the file has neither a vision nor an audio encoder");
  if (vision) G4_RETURN_IF_ERROR(load_vision());
  if (audio) G4_RETURN_IF_ERROR(load_audio());
  return std::move(towers_);
}

Status Loader::check_projector(const char* tower, const char* expected) const {
  // A file with one tower may name its projector without the tower.
  std::string key = StrCat("clip.", tower, ".projector_type");
  if (!source_.has(key)) key = "clip.projector_type";
  if (!source_.has(key)) return format_error(StrCat("key clip.", tower, ".projector_type is missing"));
  G4_ASSIGN_OR_RETURN(const std::string_view type, source_.get_string(key));
  if (type == expected) return absl::OkStatus();
  return unsupported_error(
      StrCat("the file's ", tower, " projector is ", shown_text(type), "; g4 runs ", expected));
}

template <typename Tower>
Status Loader::read_sizes(KeyReader& keys, Tower& tower) {
  tower.hidden_dim = keys.integer("embedding_length", 4, kMaxHidden);
  tower.ffn_dim = keys.integer("feed_forward_length", 1, kMaxDim);
  tower.head_count = keys.integer("attention.head_count", 1, kMaxHeads);
  tower.norm_eps = keys.number("attention.layer_norm_epsilon", 1e-30, 1, tower.norm_eps);
  tower.layers.resize(static_cast<size_t>(keys.integer("block_count", 1, kMaxLayers)));
  hidden_ = static_cast<uint64_t>(tower.hidden_dim);
  ffn_ = static_cast<uint64_t>(tower.ffn_dim);
  return keys.status();
}

Status Loader::load_vision() {
  VisionWeights& w = towers_.vision;
  G4_RETURN_IF_ERROR(check_projector("vision", "gemma4v"));
  KeyReader keys(source_, "clip.vision.");
  G4_RETURN_IF_ERROR(read_sizes(keys, w));
  const int patch = keys.integer("patch_size", 1, kMaxDim);
  G4_RETURN_IF_ERROR(keys.status());
  if (patch != kPatchSize)
    return unsupported_error(StrCat("key clip.vision.patch_size is ", patch, "; g4 runs ", kPatchSize));
  G4_ASSIGN_OR_RETURN(const TensorView* q, find("v.blk.0.attn_q.weight"));
  heads_ = q->shape.front();
  head_dim_ = heads_ / static_cast<uint64_t>(w.head_count);
  if (head_dim_ * static_cast<uint64_t>(w.head_count) != heads_ || head_dim_ % 4 != 0 || head_dim_ == 0 ||
      head_dim_ > kMaxTowerHeadDim)
    return format_error(StrCat("tensor ", q->name, " has ", heads_, " rows for ", w.head_count,
                               " heads; a head's share must be a multiple of 4, at most ", kMaxTowerHeadDim));
  w.head_dim = static_cast<int>(head_dim_);
  G4_RETURN_IF_ERROR(
      bind_kernel("v.patch_embd.weight", {hidden_, 3, kPatchSize, kPatchSize}, w.patch_embedding));
  G4_RETURN_IF_ERROR(bind(kVision, "", w));
  for (size_t i = 0; i < w.layers.size(); ++i)
    G4_RETURN_IF_ERROR(bind(kVisionLayer, StrCat("v.blk.", i, "."), w.layers[i]));
  if (source_.find("v.std_bias") == nullptr && source_.find("v.std_scale") == nullptr)
    return absl::OkStatus();
  G4_RETURN_IF_ERROR(bind_vector_of("v.std_bias", hidden_, w.std_bias));
  return bind_vector_of("v.std_scale", hidden_, w.std_scale);
}

Status Loader::load_audio() {
  AudioWeights& w = towers_.audio;
  G4_RETURN_IF_ERROR(check_projector("audio", "gemma4a"));
  KeyReader keys(source_, "clip.audio.");
  G4_RETURN_IF_ERROR(read_sizes(keys, w));
  const int bins = keys.integer("num_mel_bins", 1, kMaxDim, static_cast<int>(kMelBins));
  G4_RETURN_IF_ERROR(keys.status());
  if (bins != static_cast<int>(kMelBins))
    return unsupported_error(StrCat("key clip.audio.num_mel_bins is ", bins, "; g4 runs ", kMelBins));
  if (w.hidden_dim % w.head_count != 0 || w.hidden_dim % 2 != 0 ||
      w.hidden_dim / w.head_count > kMaxTowerHeadDim)
    return format_error(StrCat("key clip.audio.embedding_length is ", w.hidden_dim, " for ", w.head_count,
                               " heads, expected an even multiple, at most ", kMaxTowerHeadDim,
                               " times as much"));
  w.head_dim = w.hidden_dim / w.head_count;
  head_dim_ = static_cast<uint64_t>(w.head_dim);
  G4_RETURN_IF_ERROR(load_subsampling());
  G4_RETURN_IF_ERROR(bind(kAudio, "", w));
  const size_t flat = kMelBins / 4 * w.subsampling[1].conv.rows;
  if (w.input_projection.cols != flat)
    return format_error(StrCat("tensor a.input_projection.weight has ", w.input_projection.cols,
                               " columns, expected ", flat));
  if (w.projection.cols != w.output.rows)
    return format_error(StrCat("tensor mm.a.input_projection.weight has ", w.projection.cols,
                               " columns, but a.pre_encode.out.weight has ", w.output.rows, " rows"));
  G4_RETURN_IF_ERROR(bind_vector_of("a.pre_encode.out.bias", w.output.rows, w.output_bias));
  for (size_t i = 0; i < w.layers.size(); ++i) {
    const std::string prefix = StrCat("a.blk.", i, ".");
    G4_RETURN_IF_ERROR(bind(kAudioLayer, prefix, w.layers[i]));
    G4_RETURN_IF_ERROR(bind(kFeedForwardFirst, prefix, w.layers[i].ffn_first));
    G4_RETURN_IF_ERROR(bind(kFeedForwardLast, prefix, w.layers[i].ffn_last));
  }
  return absl::OkStatus();
}

// Two 3 x 3 convolutions: the second takes the channels of the first, which takes the features.
Status Loader::load_subsampling() {
  uint64_t inputs = 1;
  for (size_t i = 0; i < 2; ++i) {
    const std::string name = StrCat("a.conv1d.", i);
    AudioWeights::Subsampling& step = towers_.audio.subsampling[i];
    G4_RETURN_IF_ERROR(bind_kernel(name + ".weight", {0, inputs, 3, 3}, step.conv));
    inputs = step.conv.rows;
    if (inputs > kMaxConvChannels)
      return format_error(StrCat("tensor ", name, ".weight makes ", inputs, " channels; at most ",
                                 kMaxConvChannels, " are allowed"));
    G4_RETURN_IF_ERROR(bind_vector_of(name + ".norm.weight", inputs, step.norm));
  }
  return absl::OkStatus();
}

// The weights of a convolution as one row per output channel; outputs 0: as many as there are.
Status Loader::bind_kernel(const std::string& name, std::array<uint64_t, 4> shape, Matrix& field) {
  G4_ASSIGN_OR_RETURN(const TensorView* tensor, find(name));
  if (shape[0] == 0) shape[0] = tensor->shape.front();
  if (!std::equal(shape.begin(), shape.end(), tensor->shape.begin(), tensor->shape.end()))
    return format_error(
        StrCat("tensor ", name, " has shape ", shape_text(tensor->shape), ", expected ", shape_text(shape)));
  if (dtype_info(tensor->type).block_values != 1)
    return format_error(
        StrCat("tensor ", name, " has type ", dtype_info(tensor->type).name, ", expected F32, F16 or BF16"));
  field = {tensor->data, tensor->type, static_cast<size_t>(shape[0]),
           static_cast<size_t>(shape[1] * shape[2] * shape[3])};
  return absl::OkStatus();
}

uint64_t Loader::dim_value(Dim dim) const {
  switch (dim) {
    case Dim::kD:
      return text_dim_;
    case Dim::kH:
      return hidden_;
    case Dim::kTwoH:
      return 2 * hidden_;
    case Dim::kF:
      return ffn_;
    case Dim::kE:
      return head_dim_;
    case Dim::kHeads:
      return heads_;
    case Dim::kTaps:
      return kConvTaps;
    case Dim::kTwo:
      return 2;
    case Dim::kNone:
    case Dim::kAny:
      break;
  }
  return 0;
}

StatusOr<const TensorView*> Loader::find(const std::string& name) const {
  const TensorView* tensor = source_.find(name);
  if (tensor == nullptr) return format_error(StrCat("tensor ", name, " is missing"));
  return tensor;
}

template <typename Owner, size_t N>
Status Loader::bind(const Row<Owner> (&rows)[N], const std::string& prefix, Owner& owner) {
  for (const Row<Owner>& row : rows) {
    const std::string name = StrCat(prefix, row.name);
    G4_ASSIGN_OR_RETURN(const TensorView* tensor, find(name + ".weight"));
    std::vector<uint64_t> expected;
    for (const Dim dim : row.shape) {
      const size_t i = expected.size();
      if (dim == Dim::kNone) break;
      expected.push_back(dim == Dim::kAny && i < tensor->shape.size() ? tensor->shape[i] : dim_value(dim));
    }
    if (!same_shape(tensor->shape, expected))
      return format_error(StrCat("tensor ", tensor->name, " has shape ", shape_text(tensor->shape),
                                 ", expected ", shape_text(expected)));
    G4_RETURN_IF_ERROR(
        std::visit([&](auto field) { return bind_field(*tensor, name, owner.*field); }, row.field));
  }
  return absl::OkStatus();
}

Status Loader::bind_field(const TensorView& tensor, const std::string& name, ClippedMatrix& field) {
  field.weight = as_matrix(tensor);
  const std::pair<const char*, float*> bounds[] = {{".input_min", &field.input_min},
                                                   {".input_max", &field.input_max},
                                                   {".output_min", &field.output_min},
                                                   {".output_max", &field.output_max}};
  for (const auto& [suffix, bound] : bounds) {
    if (source_.find(name + suffix) == nullptr) continue;
    Vector value;
    G4_RETURN_IF_ERROR(bind_vector_of(name + suffix, 1, value));
    *bound = value[0];
  }
  if (!(field.input_min <= field.input_max) || !(field.output_min <= field.output_max))
    return format_error(StrCat("the clip bounds of ", tensor.name, " are no ranges"));
  return absl::OkStatus();
}

Status Loader::bind_vector_of(const std::string& name, uint64_t count, Vector& field) {
  G4_ASSIGN_OR_RETURN(const TensorView* tensor, find(name));
  if (!same_shape(tensor->shape, std::array{count}))
    return format_error(
        StrCat("tensor ", name, " has shape ", shape_text(tensor->shape), ", expected [", count, "]"));
  return bind_vector(*tensor, field, towers_.copies);
}
}  // namespace

StatusOr<Towers> load_towers(const TensorSource& source, int text_hidden_dim) {
  if (!source.has("general.architecture")) return format_error("key general.architecture is missing");
  return Loader(source, text_hidden_dim).load();
}

StatusOr<std::shared_ptr<const Towers>> open_towers(const std::string& path, int text_hidden_dim) {
  G4_ASSIGN_OR_RETURN(std::shared_ptr<MappedFile> file, MappedFile::open(path));
  G4_ASSIGN_OR_RETURN(std::unique_ptr<TensorSource> source, open_gguf(file));
  StatusOr<Towers> towers = load_towers(*source, text_hidden_dim);
  if (!towers.ok()) return Status(towers.status().code(), StrCat(path, ": ", towers.status().message()));
  for (const TensorView& tensor : source->tensors()) towers->mapped_bytes += tensor.size_bytes;
  towers->file = std::move(file);
  towers->source = std::move(source);
  return std::make_shared<const Towers>(*std::move(towers));
}
}  // namespace g4
