#include "media/audio_tower.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "media/mel.h"

namespace g4 {
namespace {
constexpr size_t kWindow = 12;  // frames that attention sees: itself and those before it
constexpr float kScoreCap = 50.0f;
constexpr size_t kConvFrames = 16;  // output frames of a convolution that are gathered at once

// What a subsampling step takes and gives: [frames, bins, channels].
struct FeatureMap {
  std::vector<float> values;
  size_t frames, bins, channels;
};

// One pass over one clip. T frames after the subsampling; H, F, E as in towers.h.
class AudioPass {
 public:
  AudioPass(const AudioWeights& weights, size_t frames, const MediaCompute& compute)
      : w_(weights),
        layers_(compute),
        T_((frames + 3) / 4),
        H_(static_cast<size_t>(weights.hidden_dim)),
        heads_(static_cast<size_t>(weights.head_count)),
        E_(static_cast<size_t>(weights.head_dim)) {}

  StatusOr<std::vector<float>> run(std::span<const float> mel) {
    G4_RETURN_IF_ERROR(reserve());
    make_sinusoids();
    FeatureMap map{{mel.begin(), mel.end()}, mel.size() / kMelBins, kMelBins, 1};
    for (const AudioWeights::Subsampling& step : w_.subsampling) map = subsample(step, map);
    layers_.apply(w_.input_projection, map.values.data(), T_, x_TH_.data());
    for (const AudioLayer& layer : w_.layers) {
      feed_forward(layer.ffn_first);
      attention(layer);
      convolution(layer);
      feed_forward(layer.ffn_last);
      layers_.norm(x_TH_.data(), layer.output_norm, w_.norm_eps, T_, H_, x_TH_.data());
      if (layers_.cancelled()) return cancelled_error();
    }
    std::vector<float> out(T_ * w_.output.rows);
    layers_.apply(w_.output, x_TH_.data(), T_, out.data());
    layers_.for_rows(T_, [&](size_t t) {
      layers_.kernels.add(out.data() + t * w_.output.rows, w_.output_bias.data(), w_.output.rows);
    });
    return out;
  }

 private:
  Status reserve();
  void make_sinusoids();
  FeatureMap subsample(const AudioWeights::Subsampling& step, const FeatureMap& in);
  void feed_forward(const AudioFeedForward& ffn);
  void attention(const AudioLayer& layer);
  void attend(size_t t, size_t head, float* out_TH);
  void convolution(const AudioLayer& layer);

  const AudioWeights& w_;
  TowerLayers layers_;
  const size_t T_, H_, heads_, E_;
  AlignedBuffer<float> x_TH_, norm_TH_, wide_;  // wide_ [T, max(F, 2*H)]
  AlignedBuffer<float> q_TH_, k_TH_, v_TH_;
  std::vector<float> sinusoids_;   // [kWindow, H]: the places at distances 0, 1, ...
  std::vector<float> relative_k_;  // [kWindow, H]: what a layer's keys of the distances are
};

Status AudioPass::reserve() {
  const size_t widest = std::max(static_cast<size_t>(w_.ffn_dim), 2 * H_);
  for (AlignedBuffer<float>* buffer : {&x_TH_, &norm_TH_, &q_TH_, &k_TH_, &v_TH_}) {
    G4_ASSIGN_OR_RETURN(*buffer, AlignedBuffer<float>::create(T_ * H_));
  }
  G4_ASSIGN_OR_RETURN(wide_, AlignedBuffer<float>::create(T_ * widest));
  const AudioLayer& layer = w_.layers.front();
  const Matrix shapes[] = {
      w_.subsampling[0].conv,      w_.subsampling[1].conv, w_.input_projection, layer.ffn_first.up.weight,
      layer.ffn_first.down.weight, layer.conv_in.weight,   layer.q.weight,      w_.output};
  return layers_.reserve(std::max(T_, kConvFrames * kMelBins), shapes);
}

void AudioPass::make_sinusoids() {
  const size_t half = H_ / 2;
  sinusoids_.resize(kWindow * H_);
  relative_k_.resize(kWindow * H_);
  for (size_t distance = 0; distance < kWindow; ++distance)
    for (size_t j = 0; j < half; ++j) {
      const double rate =
          half == 1 ? 1.0 : std::pow(10000.0, -static_cast<double>(j) / static_cast<double>(half - 1));
      const double angle = static_cast<double>(distance) * rate;
      sinusoids_[distance * H_ + j] = static_cast<float>(std::sin(angle));
      sinusoids_[distance * H_ + half + j] = static_cast<float>(std::cos(angle));
    }
}

// ReLU(norm over the channels of a 3 x 3 convolution with stride 2, padded with zeros). A product with the
// values under the kernel as rows, in the order of its weights: channel, frame, bin.
FeatureMap AudioPass::subsample(const AudioWeights::Subsampling& step, const FeatureMap& in) {
  FeatureMap out{{}, (in.frames + 1) / 2, (in.bins + 1) / 2, step.conv.rows};
  out.values.resize(out.frames * out.bins * out.channels);
  const size_t K = step.conv.cols;
  std::vector<float> patches(std::min(kConvFrames, out.frames) * out.bins * K);
  for (size_t first = 0; first < out.frames && !layers_.cancelled(); first += kConvFrames) {
    const size_t places = std::min(kConvFrames, out.frames - first) * out.bins;
    float* block = out.values.data() + first * out.bins * out.channels;
    layers_.for_rows(places, [&](size_t place) {
      float* patch = patches.data() + place * K;
      // One before the centre is a wrap to a huge number where there is none: outside, like one too many.
      const size_t frame = 2 * (first + place / out.bins) - 1, bin = 2 * (place % out.bins) - 1;
      for (size_t dt = 0; dt < 3; ++dt)
        for (size_t df = 0; df < 3; ++df) {
          const bool inside = frame + dt < in.frames && bin + df < in.bins;
          const float* source =
              in.values.data() + (inside ? ((frame + dt) * in.bins + bin + df) * in.channels : 0);
          for (size_t c = 0; c < in.channels; ++c) patch[c * 9 + dt * 3 + df] = inside ? source[c] : 0.0f;
        }
    });
    layers_.apply(step.conv, patches.data(), places, block);
    layers_.for_rows(places, [&](size_t place) {
      float* row = block + place * out.channels;
      float mean = 0, variance = 0;
      for (size_t c = 0; c < out.channels; ++c) mean += row[c];
      mean /= static_cast<float>(out.channels);
      for (size_t c = 0; c < out.channels; ++c) variance += (row[c] - mean) * (row[c] - mean);
      const float scale = 1.0f / std::sqrt(variance / static_cast<float>(out.channels) + w_.norm_eps);
      for (size_t c = 0; c < out.channels; ++c)
        row[c] = std::max(0.0f, (row[c] - mean) * scale * step.norm[c]);
    });
  }
  return out;
}

// x += norm(down · silu(up · norm(x))) / 2
void AudioPass::feed_forward(const AudioFeedForward& ffn) {
  const size_t F = static_cast<size_t>(w_.ffn_dim);
  layers_.norm(x_TH_.data(), ffn.norm, w_.norm_eps, T_, H_, norm_TH_.data());
  layers_.apply(ffn.up, norm_TH_.data(), T_, wide_.data());
  layers_.for_rows(T_, [&](size_t t) {
    float* row = wide_.data() + t * F;
    layers_.kernels.sigmoid_mul(row, row, F, row);
  });
  layers_.apply(ffn.down, wide_.data(), T_, norm_TH_.data());
  layers_.add_normed(norm_TH_.data(), ffn.post_norm, w_.norm_eps, 0.5f, T_, H_, x_TH_.data());
}

void AudioPass::attention(const AudioLayer& layer) {
  layers_.norm(x_TH_.data(), layer.attn_norm, w_.norm_eps, T_, H_, norm_TH_.data());
  layers_.apply(layer.q, norm_TH_.data(), T_, q_TH_.data());
  layers_.apply(layer.k, norm_TH_.data(), T_, k_TH_.data());
  layers_.apply(layer.v, norm_TH_.data(), T_, v_TH_.data());
  layers_.apply(layer.relative_k, sinusoids_.data(), kWindow, relative_k_.data());
  const float q_scale = 1.0f / (std::sqrt(static_cast<float>(E_)) * std::numbers::ln2_v<float>),
              k_scale = std::log1p(std::numbers::e_v<float>) / std::numbers::ln2_v<float>;
  layers_.for_rows(T_, [&](size_t t) {
    for (size_t i = 0; i < H_; ++i) {
      q_TH_[t * H_ + i] *= q_scale * layer.per_dim_scale[i % E_];
      k_TH_[t * H_ + i] *= k_scale;
    }
  });
  layers_.for_rows(T_ * heads_, [&](size_t task) { attend(task / heads_, task % heads_, norm_TH_.data()); });
  layers_.apply(layer.attn_output, norm_TH_.data(), T_, q_TH_.data());
  layers_.add_normed(q_TH_.data(), layer.attn_post_norm, w_.norm_eps, 1.0f, T_, H_, x_TH_.data());
}

// One query over the frames it sees: the score of a key and of its distance, capped.
void AudioPass::attend(size_t t, size_t head, float* out_TH) {
  const size_t seen = std::min(kWindow, t + 1);
  const auto dot = [this](const float* a, const float* b) {
    using Values = Eigen::Map<const Eigen::VectorXf>;
    const Eigen::Index size = static_cast<Eigen::Index>(E_);
    return Values(a, size).dot(Values(b, size));
  };
  const float* q = q_TH_.data() + t * H_ + head * E_;
  float weight[kWindow], sum = 0;
  for (size_t distance = 0; distance < seen; ++distance) {
    const float score = dot(q, k_TH_.data() + (t - distance) * H_ + head * E_) +
                        dot(q, relative_k_.data() + distance * H_ + head * E_);
    weight[distance] = kScoreCap * std::tanh(score / kScoreCap);
  }
  const float top = *std::max_element(weight, weight + seen);
  for (size_t distance = 0; distance < seen; ++distance)
    sum += weight[distance] = std::exp(weight[distance] - top);
  float* out = out_TH + t * H_ + head * E_;
  std::fill_n(out, E_, 0.0f);
  for (size_t distance = 0; distance < seen; ++distance) {
    const float* v = v_TH_.data() + (t - distance) * H_ + head * E_;
    for (size_t e = 0; e < E_; ++e) out[e] += weight[distance] / sum * v[e];
  }
}

// x += out · silu(norm(causal depthwise convolution of (a ⊙ sigmoid(b)))), [a, b] = in · norm(x)
void AudioPass::convolution(const AudioLayer& layer) {
  layers_.norm(x_TH_.data(), layer.conv_norm, w_.norm_eps, T_, H_, norm_TH_.data());
  layers_.apply(layer.conv_in, norm_TH_.data(), T_, wide_.data());
  layers_.for_rows(T_, [&](size_t t) {
    const float* a = wide_.data() + t * 2 * H_;
    layers_.kernels.sigmoid_mul(a + H_, a, H_, q_TH_.data() + t * H_);
  });
  layers_.for_rows(T_, [&](size_t t) {
    float* row = norm_TH_.data() + t * H_;
    std::fill_n(row, H_, 0.0f);
    for (size_t tap = 0; tap < kConvTaps; ++tap) {
      if (t + tap + 1 < kConvTaps) continue;  // before the first frame
      const float* in = q_TH_.data() + (t + tap + 1 - kConvTaps) * H_;
      for (size_t i = 0; i < H_; ++i) row[i] += in[i] * layer.conv_depthwise[i * kConvTaps + tap];
    }
    layers_.kernels.rms_norm(row, layer.conv_mid_norm.data(), w_.norm_eps, H_, row);
    layers_.kernels.sigmoid_mul(row, row, H_, row);
  });
  layers_.apply(layer.conv_out, norm_TH_.data(), T_, q_TH_.data());
  layers_.for_rows(T_,
                   [&](size_t t) { layers_.kernels.add(x_TH_.data() + t * H_, q_TH_.data() + t * H_, H_); });
}
}  // namespace

StatusOr<std::vector<float>> run_audio_tower(const AudioWeights& weights, std::span<const float> mel,
                                             const MediaCompute& compute) {
  return AudioPass(weights, mel.size() / kMelBins, compute).run(mel);
}
}  // namespace g4
