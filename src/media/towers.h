// The vision and audio towers of a multimodal file (mmproj): sizes and tensors, checked when it is opened.
// Shape letters here: D hidden size of the text model, H of the tower, F feed-forward, E head dim.
#pragma once
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "io/mapped_file.h"
#include "io/tensor_source.h"
#include "model/weights.h"

namespace g4 {
// A linear layer that clamps what goes in and what comes out.
struct ClippedMatrix {
  Matrix weight;
  float input_min = -std::numeric_limits<float>::infinity(), input_max = -input_min;
  float output_min = input_min, output_max = input_max;
};

struct VisionLayer {
  Vector input_norm, post_attention_norm, pre_ffw_norm, post_ffw_norm;  // [H]
  ClippedMatrix q, k, v;                                                // [heads*E, H]
  Vector q_norm, k_norm;                                                // [E]
  ClippedMatrix attn_output;                                            // [H, heads*E]
  ClippedMatrix ffn_gate, ffn_up;                                       // [F, H]
  ClippedMatrix ffn_down;                                               // [H, F]
};

struct VisionWeights {
  int hidden_dim = 0, ffn_dim = 0, head_count = 0, head_dim = 0;
  float norm_eps = 1e-6f;
  Matrix patch_embedding;      // [H, channel * row * column of a patch]
  Matrix position_embedding;   // [2 * positions, H]: of the columns, then of the rows
  Vector std_bias, std_scale;  // [H], or empty
  Matrix projection;           // [D, H]
  std::vector<VisionLayer> layers;
  bool empty() const { return layers.empty(); }
  size_t position_count() const { return position_embedding.rows / 2; }
};

struct AudioFeedForward {
  Vector norm, post_norm;  // [H]
  ClippedMatrix up;        // [F, H]
  ClippedMatrix down;      // [H, F]
};

struct AudioLayer {
  AudioFeedForward ffn_first, ffn_last;
  Vector attn_norm, attn_post_norm;    // [H]
  ClippedMatrix q, k, v, attn_output;  // [H, H]
  Matrix relative_k;                   // [H, H]
  Vector per_dim_scale;                // [E]
  Vector conv_norm;                    // [H]
  ClippedMatrix conv_in;               // [2*H, H]
  Vector conv_depthwise;               // [H, kConvTaps]
  Vector conv_mid_norm;                // [H]
  ClippedMatrix conv_out;              // [H, H]
  Vector output_norm;                  // [H]
};

struct AudioWeights {
  int hidden_dim = 0, ffn_dim = 0, head_count = 0, head_dim = 0;
  float norm_eps = 1e-6f;
  struct Subsampling {
    Matrix conv;  // [channels, inputs * 3 * 3]
    Vector norm;  // [channels]
  } subsampling[2];
  Matrix input_projection;  // [H, bins / 4 * channels]
  Matrix output;            // [outputs, H]
  Vector output_bias;       // [outputs]
  Matrix projection;        // [D, outputs]
  std::vector<AudioLayer> layers;
  bool empty() const { return layers.empty(); }
};
inline constexpr size_t kConvTaps = 5;
inline constexpr int kMaxTowerHeadDim = 256;

struct Towers {
  VisionWeights vision;  // empty: the file has none
  AudioWeights audio;
  uint64_t mapped_bytes = 0;  // of all tensors
  // What the views above point into.
  std::vector<std::unique_ptr<float[]>> copies;
  std::shared_ptr<MappedFile> file;
  std::unique_ptr<TensorSource> source;
};

// Errors: unsupported (no mmproj file, or a projector of another kind, named), format (a key or tensor
// missing or wrong, named; rows that do not fit text_hidden_dim). The source's bytes must outlive the result.
StatusOr<Towers> load_towers(const TensorSource& source, int text_hidden_dim);
// The same from a file, which the result keeps mapped. Errors: also io.
StatusOr<std::shared_ptr<const Towers>> open_towers(const std::string& path, int text_hidden_dim);
}  // namespace g4
