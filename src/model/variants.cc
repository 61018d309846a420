// The published models, to call a file by the name people know. Nothing else compares sizes with them.
#include "model/read_config.h"

namespace g4 {
namespace {
struct Variant {
  const char* name;
  int layer_count, hidden_dim, head_count, shared_kv_layer_count, ple_dim, expert_count;
};
constexpr Variant kVariants[] = {
    {"E2B", 35, 1536, 8, 20, 256, 0},
    {"E4B", 42, 2560, 8, 18, 256, 0},
    {"31B", 60, 5376, 32, 0, 0, 0},
    {"26B-A4B", 30, 2816, 16, 0, 0, 128},
};
}  // namespace

const char* variant_name(const ModelConfig& config) {
  for (const Variant& v : kVariants)
    if (config.layer_count() == v.layer_count && config.hidden_dim == v.hidden_dim &&
        config.head_count == v.head_count && config.shared_kv_layer_count == v.shared_kv_layer_count &&
        config.ple_dim == v.ple_dim && config.expert_count == v.expert_count)
      return v.name;
  return "custom";
}
}  // namespace g4
