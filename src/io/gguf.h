// GGUF v3, little-endian, one file. Everything is verified before anything of it is used.
#pragma once
#include <memory>

#include "io/mapped_file.h"
#include "io/tensor_source.h"

namespace g4 {
// Parses header, metadata and tensor table of `file`. The result keeps the file mapped.
// Errors: format; the message names the key, tensor or offset that is wrong. Memory stays below a few times the metadata's size.
StatusOr<std::unique_ptr<TensorSource>> open_gguf(std::shared_ptr<MappedFile> file);
}  // namespace g4
