// DiskEmbedding: the per-layer-embedding (PLE) table, half of E2B, left on disk. Only the rows of the tokens
// in a batch are read.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "io/mapped_file.h"
#include "io/tensor_source.h"
#include "model/config.h"

namespace g4 {
class DiskEmbedding {
 public:
  enum class Mode { kMapped, kRead };  // kRead: pread, for media where touching a mapping may fault
  struct Counters {
    uint64_t rows = 0;   // rows fetched
    uint64_t bytes = 0;  // bytes of those rows
    uint64_t ns = 0;     // time spent fetching and decoding
  };

  // The table is the tensor per_layer_token_embd.weight of `source`, whose bytes lie in `file`.
  // Errors: format (absent or of the wrong shape; the message names it).
  static StatusOr<std::unique_ptr<DiskEmbedding>> open(std::shared_ptr<MappedFile> file,
                                                       const TensorSource& source, const ModelConfig& config,
                                                       Mode mode);
  // Rows in the table; may be fewer than the vocabulary.
  size_t row_count() const { return table_.rows; }
  uint64_t size_bytes() const { return table_.size_bytes(); }
  DType type() const { return table_.type; }

  // Asks the system for the rows of these tokens, all at once, and returns at once. Ids out of range are
  // ignored.
  void prefetch(std::span<const int32_t> tokens) const;
  // out [tokens, L*P] float32, unscaled. Any number of threads. Errors: argument (a token beyond the table;
  // nothing is written), io and memory (kRead).
  Status read_rows(std::span<const int32_t> tokens, float* out) const;
  Counters counters() const;

 private:
  DiskEmbedding() = default;

  std::shared_ptr<MappedFile> file_;
  Matrix table_;         // [rows, L*P]
  uint64_t offset_ = 0;  // of the table in the file
  Mode mode_ = Mode::kMapped;
  mutable std::atomic<uint64_t> rows_{0}, bytes_{0}, ns_{0};
};
}  // namespace g4
