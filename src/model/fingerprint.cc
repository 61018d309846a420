#include "model/fingerprint.h"

#include <algorithm>
#include <memory>

#define XXH_INLINE_ALL  // a header only: nothing to link
#include <xxhash.h>

namespace g4 {
namespace {
constexpr uint64_t kSampleBytes = 4096;

class Hash {
 public:
  Hash() : state_(XXH3_createState(), XXH3_freeState) { XXH3_128bits_reset(state_.get()); }
  void add(const void* data, size_t bytes) { XXH3_128bits_update(state_.get(), data, bytes); }
  template <typename T>
  void add_value(T value) {
    add(&value, sizeof value);
  }
  Fingerprint value() const {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_.get()));
    Fingerprint out;
    std::copy_n(canonical.digest, out.size(), out.begin());
    return out;
  }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

void add_config(const ModelConfig& c, Hash* hash) {
  for (const int value : {c.vocab_size, c.hidden_dim, c.head_count, c.sliding_window, c.shared_kv_layer_count,
                          c.ple_dim, c.expert_count, c.expert_used_count, c.expert_ffn_dim,
                          static_cast<int>(c.bidirectional_media), c.layer_count()})
    hash->add_value(value);
  for (const float value : {c.norm_eps, c.logit_softcap, c.rope_base_full, c.rope_base_sliding})
    hash->add_value(value);
  for (const LayerConfig& layer : c.layers)
    for (const int value :
         {static_cast<int>(layer.is_sliding), layer.kv_head_count, layer.head_dim, layer.ffn_dim})
      hash->add_value(value);
}
}  // namespace

Fingerprint fingerprint(const TensorSource& source, const ModelConfig& config) {
  Hash hash;
  add_config(config, &hash);
  std::vector<const TensorView*> tensors;
  for (const TensorView& tensor : source.tensors()) tensors.push_back(&tensor);
  std::sort(tensors.begin(), tensors.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  for (const TensorView* tensor : tensors) {
    hash.add(tensor->name.data(), tensor->name.size());
    hash.add_value(tensor->type);
    for (const uint64_t dim : tensor->shape) hash.add_value(dim);
    const uint64_t sample = std::min(kSampleBytes, tensor->size_bytes), last = tensor->size_bytes - sample;
    for (const uint64_t begin : {uint64_t{0}, last / 2, last}) hash.add(tensor->data + begin, sample);
  }
  return hash.value();
}
}  // namespace g4
