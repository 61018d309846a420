// GGUF v3, little-endian, one file. Everything is verified before anything of it is used.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "io/mapped_file.h"
#include "io/tensor_source.h"

namespace g4 {
// Parses header, metadata and tensor table of `file`, or of the GGUF in it if it is a prepared file
// (io/prepared_file.h). The result keeps the file mapped.
// Errors: format (damaged; the message names the key, tensor or offset that is wrong), unsupported (another
// version or byte order, a split file, a tensor type g4 does not read). Memory stays below a few times the
// metadata's size.
StatusOr<std::unique_ptr<TensorSource>> open_gguf(std::shared_ptr<MappedFile> file);
// The same for a file whose bytes are in memory already; they must outlive the result.
StatusOr<std::unique_ptr<TensorSource>> parse_gguf(std::span<const uint8_t> bytes);
}  // namespace g4
