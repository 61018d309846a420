// Any bytes as a model file: opening it, its configuration and its weights end in a status, and nothing is
// read beyond the bytes.
#include <cstddef>
#include <cstdint>

#include "io/gguf.h"
#include "io/prepared_file.h"
#include "model/pack_weights.h"
#include "model/read_config.h"
#include "model/weights.h"

namespace {
// Asks for `key` as every type there is; all but one must refuse.
void read_key(const g4::TensorSource& source, const char* key) {
  (void)source.get_int(key);
  (void)source.get_float(key);
  (void)source.get_bool(key);
  (void)source.get_string(key);
  (void)source.get_int_array(key);
  (void)source.get_float_array(key);
  (void)source.get_string_array(key);
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto prepared = g4::read_prepared_header({data, size});
  if (!prepared.ok()) return 0;
  const size_t begin = *prepared ? g4::kPreparedHeaderBytes : 0;
  const auto source = g4::parse_gguf({data + begin, size - begin});
  if (!source.ok()) return 0;
  for (const char* key : {"general.name", "general.alignment", "gemma4.block_count",
                          "gemma4.feed_forward_length", "tokenizer.ggml.tokens", "tokenizer.ggml.scores",
                          "tokenizer.ggml.token_type", "tokenizer.chat_template", "k"})
    read_key(**source, key);
  uint8_t sum = 0;
  for (const g4::TensorView& tensor : (*source)->tensors())
    sum ^= tensor.data[0] ^ tensor.data[tensor.size_bytes - 1];
  const volatile uint8_t touched = sum;
  (void)touched;
  const auto config = g4::read_config(**source);
  if (!config.ok()) return 0;
  (void)g4::variant_name(*config);
  auto weights = g4::load_weights(**source, *config);
  if (weights.ok() && *prepared) g4::mark_prepared(*weights, (*prepared)->lanes);
  return 0;
}
