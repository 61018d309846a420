#include "kv/kv_meta.h"

#include "base/check.h"

namespace g4 {
KvMeta::KvMeta(const ModelConfig& config) : owner_count_(config.first_shared_layer()) {
  layers_.reserve(config.layers.size());
  for (int i = 0; i < config.layer_count(); ++i) {
    const LayerConfig& layer = config.layers[static_cast<size_t>(i)];
    if (config.owns_kv(i)) {
      layers_.push_back({layer.is_sliding, i, layer.is_sliding ? config.sliding_window : 0,
                         layer.kv_head_count, layer.head_dim});
    } else {
      // The source is the last owning layer of the same kind (gemma4.md 2): "the last two" is right for E2B
      // only by luck.
      int source = owner_count_ - 1;
      while (source >= 0 && layers_[static_cast<size_t>(source)].is_sliding != layer.is_sliding) --source;
      G4_DCHECK(source >= 0);
      layers_.push_back(layers_[static_cast<size_t>(source)]);
    }
  }
}

uint64_t KvMeta::offset_bytes(int layer, KvType type) const {
  uint64_t offset = 0;
  for (int i = 0; i < (*this)[layer].source_layer; ++i) offset += (*this)[i].position_bytes(type);
  return offset;
}
}  // namespace g4
