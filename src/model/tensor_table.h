// The tensors of a text model: one row each, with the name in the file, the shape in letters, and who needs
// it.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "model/weights.h"

namespace g4 {
// A dimension by the letters of config.h; in a layer's tensor E, K and F are those of the layer.
enum class Dim : uint8_t {
  kNone,  // no dimension: the shape ends before it
  kOne,
  kD,
  kV,
  kE,
  kHE,
  kKE,
  kF,
  kP,
  kLP,
  kX,
  kFx,  // feed-forward of one expert
  kTwoFx,
  kHalfE,  // half the head dim of the full layers
};

enum class Need : uint8_t {
  kAlways,
  kOptional,
  kOwnsKv,       // layers that own K and V
  kOwnsKvMaybe,  // the same, but it may be absent there
  kPle,          // models with per-layer embeddings
  kExperts,      // mixtures of experts
};

// Owner: Weights or LayerWeights.
template <typename Owner>
struct TensorRow {
  std::variant<Vector Owner::*, Matrix Owner::*, MatrixStack Owner::*, float Owner::*> field;
  const char* name;          // in the file; of a layer's tensor what follows "blk.N."
  std::array<Dim, 3> shape;  // outermost first
  Need need;
};

std::span<const TensorRow<Weights>> model_tensors();
std::span<const TensorRow<LayerWeights>> layer_tensors();

// Values for the letters; `layer` is ignored by those of the model.
uint64_t dim_value(Dim dim, const ModelConfig& config, int layer);

enum class Presence : uint8_t { kRequired, kOptional, kUnused };
Presence presence(Need need, const ModelConfig& config, int layer);
// Why a required tensor is: "layer 3 owns its K and V".
std::string reason(Need need, const ModelConfig& config, int layer);
}  // namespace g4
