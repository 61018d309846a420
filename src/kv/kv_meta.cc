#include "kv/kv_meta.h"

#include "base/check.h"

namespace g4 {
KvMeta::KvMeta(const ModelConfig& config) : owner_count_(config.first_shared_layer()) {
  layers_.reserve(config.layers.size());
  for (int i = 0; i < config.layer_count(); ++i) {
    const LayerConfig& layer = config.layers[static_cast<size_t>(i)];
    if (config.owns_kv(i)) {
      KvLayer row{layer.is_sliding,
                  i,
                  layer.is_sliding ? config.sliding_window : 0,
                  layer.kv_head_count,
                  layer.head_dim,
                  position_values_};
      position_values_ += row.position_values();
      layers_.push_back(row);
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
}  // namespace g4
