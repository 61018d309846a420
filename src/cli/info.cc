// g4 info: what a model is and what it will need.
#include <nlohmann/json.hpp>

#include "cli/commands.h"

namespace g4::cli {
namespace {
using Json = nlohmann::ordered_json;

std::string kv_type_name(g4_kv_type type) { return kKvTypes.at(static_cast<size_t>(type - G4_KV_F16)); }
const char* precision_name(g4_precision precision) { return precision == G4_PRECISION_F32 ? "f32" : "int8"; }

Json describe_model(const std::string& path, const g4_info& info) {
  return {{"path", path},
          {"name", info.name},
          {"architecture", info.architecture},
          {"variant", info.variant},
          {"quantisation", info.quantisation},
          {"layer_count", info.layer_count},
          {"hidden_size", info.hidden_size},
          {"head_count", info.head_count},
          {"vocab_count", info.vocab_count},
          {"context_count", info.context_count},
          {"model_context_count", info.model_context_count},
          {"sliding_window", info.sliding_window},
          {"shared_kv_layer_count", info.shared_kv_layer_count},
          {"ple_size", info.ple_size},
          {"expert_count", info.expert_count},
          {"weights_bytes", info.weights_bytes},
          {"ple_bytes", info.ple_bytes},
          {"thread_count", info.thread_count},
          {"cpu", info.cpu},
          {"kv_type", kv_type_name(info.kv_type)},
          {"precision", precision_name(info.precision)}};
}

Json describe_estimate(const g4_memory_estimate& estimate) {
  return {{"weights_bytes", estimate.weights_bytes},
          {"ple_disk_bytes", estimate.ple_disk_bytes},
          {"kv_bytes", estimate.kv_bytes},
          {"scratch_bytes", estimate.scratch_bytes},
          {"total_bytes", estimate.total_bytes}};
}

Json describe_kv_layers(const Session& session, uint32_t layer_count) {
  Json rows = Json::array();
  for (uint32_t layer = 0; layer < layer_count; ++layer) {
    const g4_kv_layer row = session.kv_layer(layer);
    rows.push_back({{"layer", layer},
                    {"kind", row.is_sliding != 0 ? "sliding" : "full"},
                    {"source_layer", row.source_layer},
                    {"window", row.window},
                    {"kv_head_count", row.kv_head_count},
                    {"head_size", row.head_size},
                    {"offset_bytes", row.offset_bytes}});
  }
  return rows;
}

std::string line(const char* label, const std::string& value) {
  return format("%-12s %s\n", label, value.c_str());
}

std::string model_table(const std::string& path, const g4_info& info, const g4_memory_estimate& estimate) {
  std::string text =
      line("model", name_of(info)) + line("file", path) +
      line("kind", format("%s %s, %s weights", info.architecture, info.variant, info.quantisation)) +
      line("layers", format("%u of width %u, %u query heads; the last %u share K and V", info.layer_count,
                            info.hidden_size, info.head_count, info.shared_kv_layer_count)) +
      line("vocabulary", format("%u tokens", info.vocab_count)) +
      line("context", format("%u tokens here, %u at most; sliding layers see %u", info.context_count,
                             info.model_context_count, info.sliding_window));
  if (info.ple_size > 0) {
    text += line("PLE", format("%u per layer, table of %s stays on disk", info.ple_size,
                               human_bytes(info.ple_bytes).c_str()));
  }
  if (info.expert_count > 0) text += line("experts", format("%u", info.expert_count));
  text += line("runs on", describe_threads(info) + format(", KV cache %s, activations %s",
                                                          kv_type_name(info.kv_type).c_str(),
                                                          precision_name(info.precision)));
  text += line("memory",
               format("%s = weights %s + KV cache %s when full + scratch %s",
                      human_bytes(estimate.total_bytes).c_str(), human_bytes(estimate.weights_bytes).c_str(),
                      human_bytes(estimate.kv_bytes).c_str(), human_bytes(estimate.scratch_bytes).c_str()));
  return text;
}

std::string kv_table(const Session& session, uint32_t layer_count) {
  std::string text = "layer  attention  K and V of  window  KV heads  head size\n";
  for (uint32_t layer = 0; layer < layer_count; ++layer) {
    const g4_kv_layer row = session.kv_layer(layer);
    const std::string source = row.source_layer == layer ? "itself" : std::to_string(row.source_layer);
    const std::string window = row.window == 0 ? "all" : std::to_string(row.window);
    text += format("%5u  %-9s  %10s  %6s  %8u  %9u\n", layer, row.is_sliding != 0 ? "sliding" : "full",
                   source.c_str(), window.c_str(), row.kv_head_count, row.head_size);
  }
  return text;
}

}  // namespace

int info(Terminal& terminal, const InfoOptions& options) {
  const std::string path = model_or_demo(options.model.path);
  const g4_memory_estimate need = estimate(path, session_options(options.model));
  const Session session = open_session(terminal, options.model);
  const g4_info info = session.info();
  if (options.json) {
    Json object = describe_model(path, info);
    object["estimate"] = describe_estimate(need);
    object["kv_layers"] = describe_kv_layers(session, info.layer_count);
    terminal.out.write(object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    terminal.out.write(model_table(path, info, need) + "\n" + kv_table(session, info.layer_count));
  }
  return 0;
}
}  // namespace g4::cli
