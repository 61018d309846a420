// Everything of a model that evaluating it needs. Immutable once made; any number of sessions share it.
#pragma once
#include <memory>

#include "kernels/table.h"
#include "kv/kv_meta.h"
#include "model/config.h"
#include "model/disk_embedding.h"
#include "model/weights.h"

namespace g4 {
enum class Precision : uint8_t {
  kInt8,  // int8 activations, a scale per 32 values, against quantised weights; in the towers also words
  kF32,   // float32 activations everywhere
};

struct Network {
  ModelConfig config;
  Weights weights;
  KvMeta kv_meta;
  std::unique_ptr<DiskEmbedding> ple;  // nullptr in models without per-layer embeddings
};
}  // namespace g4
