#include "media/vision_tower.h"

#include <algorithm>
#include <cmath>

#include "media/full_attention.h"
#include "nn/rope.h"

namespace g4 {
namespace {
constexpr double kRopeBase = 100.0;
constexpr size_t kBlockRows = 1152;  // rows that go through a feed-forward at once
constexpr size_t kPatchValues = 3 * kPatchSize * kPatchSize;

// One pass over one image. T patches, in rows of `columns`; H, F, E as in towers.h.
class VisionPass {
 public:
  VisionPass(const VisionWeights& weights, ImageSize size, const MediaCompute& compute)
      : w_(weights),
        layers_(compute),
        columns_(static_cast<size_t>(size.width / kPatchSize)),
        rows_(static_cast<size_t>(size.height / kPatchSize)),
        T_(columns_ * rows_),
        H_(static_cast<size_t>(weights.hidden_dim)),
        heads_(static_cast<size_t>(weights.head_count)),
        E_(static_cast<size_t>(weights.head_dim)),
        attention_(compute, T_, heads_, E_) {}

  StatusOr<std::vector<float>> run(std::span<const uint8_t> rgb) {
    G4_RETURN_IF_ERROR(reserve());
    make_angles();
    embed(rgb);
    for (const VisionLayer& layer : w_.layers) {
      attention(layer);
      feed_forward(layer);
      if (layers_.cancelled()) return cancelled_error();
    }
    return pool();
  }

 private:
  Status reserve();
  void make_angles();
  void embed(std::span<const uint8_t> rgb);
  void attention(const VisionLayer& layer);
  // visit(head, t, row [E]) for the rows of project_THE, each normed and, with rotate, turned by its place.
  template <typename Visit>
  void for_heads(Vector norm, bool rotate, Visit visit);
  void feed_forward(const VisionLayer& layer);
  std::vector<float> pool();

  const VisionWeights& w_;
  TowerLayers layers_;
  const size_t columns_, rows_, T_, H_, heads_, E_;
  AlignedBuffer<float> x_TH_, norm_TH_;  // norm_TH_ also holds a block's output
  AlignedBuffer<float> project_THE_;     // queries, keys, values and attention outputs, row by row
  AlignedBuffer<float> q_HTE_;
  FullAttention attention_;
  AlignedBuffer<float> gate_TF_, up_TF_;  // [kBlockRows, F]
  std::vector<float> cos_, sin_;          // [places, E/4]
};

Status VisionPass::reserve() {
  const size_t F = static_cast<size_t>(w_.ffn_dim), qkv = heads_ * E_;
  const auto make = [](AlignedBuffer<float>& buffer, size_t count) -> Status {
    G4_ASSIGN_OR_RETURN(buffer, AlignedBuffer<float>::create(count));
    return absl::OkStatus();
  };
  for (AlignedBuffer<float>* buffer : {&x_TH_, &norm_TH_}) G4_RETURN_IF_ERROR(make(*buffer, T_ * H_));
  for (AlignedBuffer<float>* buffer : {&project_THE_, &q_HTE_}) G4_RETURN_IF_ERROR(make(*buffer, T_ * qkv));
  G4_RETURN_IF_ERROR(attention_.reserve());
  for (AlignedBuffer<float>* buffer : {&gate_TF_, &up_TF_})
    G4_RETURN_IF_ERROR(make(*buffer, std::min(kBlockRows, T_) * F));
  const VisionLayer& layer = w_.layers.front();
  const Matrix shapes[] = {w_.patch_embedding, layer.q.weight, layer.attn_output.weight,
                           layer.ffn_gate.weight, layer.ffn_down.weight};
  return layers_.reserve(T_, shapes);
}

void VisionPass::make_angles() {
  const size_t places = std::max(columns_, rows_), quarter = E_ / 4;
  const std::vector<double> frequencies = rope_frequencies(kRopeBase, w_.head_dim / 2, {});
  cos_.resize(places * quarter);
  sin_.resize(places * quarter);
  for (size_t i = 0; i < places; ++i)
    rope_angles(static_cast<int>(i), frequencies, cos_.data() + i * quarter, sin_.data() + i * quarter);
}

// x = patch · Wᵀ + table[column] + table[row]; patches as the weights have them: channel, row, column.
void VisionPass::embed(std::span<const uint8_t> rgb) {
  const DTypeInfo& type = dtype_info(w_.position_embedding.type);
  const size_t line = 3 * columns_ * kPatchSize;  // bytes of a line of pixels
  std::vector<float> patches(columns_ * kPatchValues), position(H_);
  for (size_t row = 0; row < rows_; ++row) {
    layers_.for_rows(columns_, [&](size_t column) {
      float* patch = patches.data() + column * kPatchValues;
      for (size_t c = 0; c < 3; ++c)
        for (size_t y = 0; y < kPatchSize; ++y) {
          const uint8_t* pixel = rgb.data() + (row * kPatchSize + y) * line + 3 * column * kPatchSize + c;
          for (size_t x = 0; x < kPatchSize; ++x)
            *patch++ = 2.0f * (static_cast<float>(pixel[3 * x]) * (1.0f / 255.0f) - 0.5f);
        }
    });
    float* x_CH = x_TH_.data() + row * columns_ * H_;
    layers_.apply(w_.patch_embedding, patches.data(), columns_, x_CH);
    for (size_t column = 0; column < columns_; ++column)
      for (const size_t place : {column, w_.position_count() + row}) {
        type.decode(w_.position_embedding.row(place), position.data(), H_);
        layers_.kernels.add(x_CH + column * H_, position.data(), H_);
      }
  }
}

void VisionPass::attention(const VisionLayer& layer) {
  layers_.norm(x_TH_.data(), layer.input_norm, w_.norm_eps, T_, H_, norm_TH_.data());
  layers_.apply(layer.q, norm_TH_.data(), T_, project_THE_.data());
  for_heads(layer.q_norm, true, [this](size_t head, size_t t, const float* q) {
    std::copy_n(q, E_, q_HTE_.data() + (head * T_ + t) * E_);
  });
  layers_.apply(layer.k, norm_TH_.data(), T_, project_THE_.data());
  for_heads(layer.k_norm, true,
            [this](size_t head, size_t t, const float* k) { attention_.set_key(head, t, k); });
  layers_.apply(layer.v, norm_TH_.data(), T_, project_THE_.data());
  for_heads({}, false, [this](size_t head, size_t t, const float* v) { attention_.set_value(head, t, v); });
  attention_.attend(q_HTE_.data(), project_THE_.data());
  layers_.apply(layer.attn_output, project_THE_.data(), T_, norm_TH_.data());
  layers_.add_normed(norm_TH_.data(), layer.post_attention_norm, w_.norm_eps, 1.0f, T_, H_, x_TH_.data());
}

template <typename Visit>
void VisionPass::for_heads(Vector norm, bool rotate, Visit visit) {
  const size_t quarter = E_ / 4;
  layers_.for_rows(T_, [&](size_t t) {
    const size_t column = t % columns_ * quarter, row = t / columns_ * quarter;
    for (size_t head = 0; head < heads_; ++head) {
      float* x = project_THE_.data() + (t * heads_ + head) * E_;
      layers_.kernels.rms_norm(x, norm.data(), w_.norm_eps, E_, x);
      if (rotate) {
        layers_.kernels.rope(x, cos_.data() + column, sin_.data() + column, quarter);
        layers_.kernels.rope(x + E_ / 2, cos_.data() + row, sin_.data() + row, quarter);
      }
      visit(head, t, x);
    }
  });
}

void VisionPass::feed_forward(const VisionLayer& layer) {
  const size_t F = static_cast<size_t>(w_.ffn_dim);
  layers_.norm(x_TH_.data(), layer.pre_ffw_norm, w_.norm_eps, T_, H_, norm_TH_.data());
  for (size_t t = 0; t < T_ && !layers_.cancelled(); t += kBlockRows) {
    const size_t count = std::min(kBlockRows, T_ - t);
    float* block = norm_TH_.data() + t * H_;
    layers_.apply(layer.ffn_gate, block, count, gate_TF_.data());
    layers_.apply(layer.ffn_up, block, count, up_TF_.data());
    layers_.for_rows(count, [&](size_t i) {
      layers_.kernels.gelu_mul(gate_TF_.data() + i * F, up_TF_.data() + i * F, F, gate_TF_.data() + i * F);
    });
    layers_.apply(layer.ffn_down, gate_TF_.data(), count, block);
  }
  layers_.add_normed(norm_TH_.data(), layer.post_ffw_norm, w_.norm_eps, 1.0f, T_, H_, x_TH_.data());
}

// The mean of each kPoolSize x kPoolSize patches, times sqrt(H), standardised where the file says so.
std::vector<float> VisionPass::pool() {
  const size_t out_columns = columns_ / kPoolSize, count = out_columns * (rows_ / kPoolSize);
  const float scale = std::sqrt(static_cast<float>(H_)) / (kPoolSize * kPoolSize);
  std::vector<float> out(count * H_);
  layers_.for_rows(count, [&](size_t i) {
    float* row = out.data() + i * H_;
    const size_t corner = i / out_columns * kPoolSize * columns_ + i % out_columns * kPoolSize;
    for (size_t y = 0; y < kPoolSize; ++y)
      for (size_t x = 0; x < kPoolSize; ++x)
        layers_.kernels.add(row, x_TH_.data() + (corner + y * columns_ + x) * H_, H_);
    layers_.kernels.scale(row, scale, H_);
    for (size_t h = 0; h < w_.std_bias.size(); ++h) row[h] = (row[h] - w_.std_bias[h]) * w_.std_scale[h];
  });
  return out;
}
}  // namespace

StatusOr<std::vector<float>> run_vision_tower(const VisionWeights& weights, std::span<const uint8_t> rgb,
                                              ImageSize size, const MediaCompute& compute) {
  const size_t places = static_cast<size_t>(std::max(size.width, size.height) / kPatchSize);
  if (places > weights.position_count())
    return unsupported_error(StrCat("the image takes ", places,
                                    " patches in one direction, but the tower has ", weights.position_count(),
                                    " positions; use a smaller budget or a less elongated image"));
  return VisionPass(weights, size, compute).run(rgb);
}
}  // namespace g4
