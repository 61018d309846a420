#include "model/disk_embedding.h"

#include <algorithm>
#include <chrono>

#include "absl/container/inlined_vector.h"
#include "base/aligned_buffer.h"
#include "base/check.h"

namespace g4 {
namespace {
constexpr const char* kTableName = "per_layer_token_embd.weight";
constexpr uint64_t kMergeBytes = 4096;  // rows no further apart than a page are asked for together
// A touched row of the mapping brings its cached neighbours into the process: Linux maps what it holds in one
// piece, up to 2 MB of a file written not long ago. After so many rows the pages are given back.
constexpr uint64_t kMaxResidentRows = 4;
}  // namespace

StatusOr<std::unique_ptr<DiskEmbedding>> DiskEmbedding::open(std::shared_ptr<MappedFile> file,
                                                             const TensorSource& source,
                                                             const ModelConfig& config, Mode mode) {
  const TensorView* table = source.find(kTableName);
  if (table == nullptr)
    return format_error(StrCat(kTableName, " is missing from ", file->path(),
                               ": the model has per-layer embeddings of width ", config.ple_dim));
  const uint64_t cols = static_cast<uint64_t>(config.layer_count()) * static_cast<uint64_t>(config.ple_dim);
  if (table->shape.size() != 2 || table->shape[1] != cols)
    return format_error(StrCat("tensor ", kTableName, " has shape ", shape_text(table->shape),
                               ", expected [rows, ", cols, "] (", config.layer_count(), " layers of width ",
                               config.ple_dim, ")"));
  G4_DCHECK(table->data == file->bytes().data() + table->offset);

  std::unique_ptr<DiskEmbedding> embedding(new DiskEmbedding);
  embedding->table_ = {table->data, table->type, static_cast<size_t>(table->shape[0]),
                       static_cast<size_t>(cols)};
  embedding->offset_ = table->offset;
  embedding->mode_ = mode;
  // The rows of a text lie far apart: reading ahead would only fill memory.
  file->advise(table->offset, table->size_bytes, MappedFile::Access::kRandom);
  embedding->file_ = std::move(file);
  return embedding;
}

void DiskEmbedding::prefetch(std::span<const int32_t> tokens) const {
  absl::InlinedVector<size_t, 16> rows;  // a decoded token allocates nothing
  for (const int32_t token : tokens)
    if (token >= 0 && static_cast<size_t>(token) < table_.rows) rows.push_back(static_cast<size_t>(token));
  std::sort(rows.begin(), rows.end());
  const uint64_t stride = table_.stride_bytes();
  for (size_t i = 0; i < rows.size();) {
    const uint64_t begin = rows[i] * stride;
    uint64_t end = begin;
    for (; i < rows.size() && (end == begin || rows[i] * stride <= end + kMergeBytes); ++i)
      end = (rows[i] + 1) * stride;
    file_->will_need(offset_ + begin, end - begin);
  }
}

Status DiskEmbedding::read_rows(std::span<const int32_t> tokens, float* out) const {
  for (const int32_t token : tokens)
    if (token < 0 || static_cast<size_t>(token) >= table_.rows)
      return argument_error(
          StrCat("token ", token, " has no per-layer embedding: the table has rows 0 to ", table_.rows - 1));
  const auto start = std::chrono::steady_clock::now();
  const size_t stride = table_.stride_bytes();
  AlignedBuffer<uint8_t> row;
  if (mode_ == Mode::kRead) {
    G4_ASSIGN_OR_RETURN(row, AlignedBuffer<uint8_t>::create(stride));
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    const size_t index = static_cast<size_t>(tokens[i]);
    const uint8_t* source = table_.row(index);
    if (mode_ == Mode::kRead) {
      G4_RETURN_IF_ERROR(file_->read_at(offset_ + index * stride, row.span()));
      source = row.data();
    }
    dtype_info(table_.type).decode(source, out + i * table_.cols, table_.cols);
    if (++rows_ % kMaxResidentRows == 0 && mode_ == Mode::kMapped) file_->drop(offset_, size_bytes());
  }
  const auto elapsed = std::chrono::steady_clock::now() - start;
  bytes_ += tokens.size() * stride;
  ns_ += static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
  return absl::OkStatus();
}

DiskEmbedding::Counters DiskEmbedding::counters() const { return {rows_, bytes_, ns_}; }
}  // namespace g4
