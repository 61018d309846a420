// KVMeta: the registry from layer to the keys and values it reads. A pure function of the configuration.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/table.h"
#include "model/config.h"

namespace g4 {
struct KvLayer {
  bool is_sliding = false;
  int source_layer = 0;   // the layer whose K and V this one reads: itself if it owns them
  int window = 0;         // positions seen: p-window+1 ... p; 0: all
  int kv_head_count = 0;  // K
  int head_dim = 0;       // E
  // Bytes of K and V that one position takes in the source layer.
  uint64_t position_bytes(KvType type) const {
    return 2 * static_cast<uint64_t>(kv_head_count) * kv_row_bytes(type, static_cast<size_t>(head_dim));
  }
};

class KvMeta {
 public:
  // The configuration has passed read_config: every shared layer has an owning layer of its own kind.
  explicit KvMeta(const ModelConfig& config);
  const KvLayer& operator[](int layer) const { return layers_[static_cast<size_t>(layer)]; }
  int layer_count() const { return static_cast<int>(layers_.size()); }
  int owner_count() const { return owner_count_; }  // layers [0, owner_count) own K and V
  // Where the source's K and V begin among the bytes of one position, all owning layers in order.
  uint64_t offset_bytes(int layer, KvType type) const;

 private:
  std::vector<KvLayer> layers_;
  int owner_count_ = 0;
};
}  // namespace g4
