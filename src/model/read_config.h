// Container metadata -> ModelConfig.
#pragma once
#include "base/status.h"
#include "io/tensor_source.h"
#include "model/config.h"

namespace g4 {
// Errors: unsupported (an architecture that is not Gemma 4 text, named), format (a key missing, of the wrong
// type, or with a value that no Gemma 4 network can have; the message names key and value).
StatusOr<ModelConfig> read_config(const TensorSource& source);
// "E2B", "E4B", "31B", "26B-A4B" for the published sizes, else "custom": for people, decides nothing.
const char* variant_name(const ModelConfig& config);
}  // namespace g4
