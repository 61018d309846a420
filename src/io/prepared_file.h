// A prepared file: a GGUF file whose matrices are packed for one width of vectors, behind a header that says
// so. It is used in place, in the file's mapping: nothing is copied when it is opened.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/status.h"

namespace g4 {
// The GGUF begins here: the packed bytes stay as aligned as they were, and mapped in whole pages.
inline constexpr uint64_t kPreparedHeaderBytes = 4096;

struct PreparedHeader {
  uint32_t lanes;                 // rows that matrices interleave (quant/packing.h)
  std::array<uint8_t, 16> model;  // fingerprint of the model it was made from
};

// kPreparedHeaderBytes bytes.
std::array<uint8_t, kPreparedHeaderBytes> write_prepared_header(const PreparedHeader& header);
// Nothing if `file` does not begin like a prepared file. Errors: format (damaged), unsupported (written by
// another version of g4).
StatusOr<std::optional<PreparedHeader>> read_prepared_header(std::span<const uint8_t> file);
}  // namespace g4
