// Which model is this? Decides whether a saved KV state belongs to it.
#pragma once
#include <array>
#include <cstdint>

#include "io/tensor_source.h"
#include "model/config.h"

namespace g4 {
using Fingerprint = std::array<uint8_t, 16>;

// A hash (XXH3-128) of what decides keys and values: the configuration, every tensor's name, type and shape,
// and samples of every tensor's bytes (beginning, middle and end). Another quantisation or fine-tune has
// another fingerprint; a copy under another name has the same. Reads up to 12 kB per tensor through the
// mapping.
Fingerprint fingerprint(const TensorSource& source, const ModelConfig& config);
}  // namespace g4
