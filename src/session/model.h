// A model: what its files hold, opened and checked. Shared by all its sessions, and immutable but for the
// list of pictures and sounds that are in use.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/status.h"
#include "io/mapped_file.h"
#include "io/prepared_file.h"
#include "io/tensor_source.h"
#include "kernels/table.h"
#include "media/media_run.h"
#include "media/towers.h"
#include "model/fingerprint.h"
#include "model/pack_weights.h"
#include "nn/network.h"
#include "text/tokenizer.h"

namespace g4 {
struct ModelOptions {
  std::string ple_path;  // GGUF that holds the PLE table; empty: the model file
  DiskEmbedding::Mode ple_mode = DiskEmbedding::Mode::kMapped;
  std::string mmproj_path;  // GGUF that holds the vision and audio towers; empty: none
  std::string cpu;          // kernel row; empty: the best
  int thread_count = 0;     // that open it; 0: physical cores
};

// The number of threads asked for, or for 0 that of the physical cores. Errors: argument.
StatusOr<int> resolve_thread_count(int requested);

class Model {
 public:
  // Opens and checks everything, then brings the weights (not the PLE table) into memory, packed for the
  // kernels, with progress. Errors: argument (an option), io, format, unsupported, memory, cancelled
  // (progress returned false).
  static StatusOr<std::shared_ptr<const Model>> open(const std::string& path, const ModelOptions& options,
                                                     const LoadProgress& progress);
  // Everything but the weights' pages and the tokenizer: for estimates.
  static StatusOr<std::shared_ptr<const Model>> open_headers(const std::string& path,
                                                             const ModelOptions& options);

  // Writes the model to `out_path` as a prepared file for the kernels of options.cpu: one that opens at once
  // and is used where it lies. Files that the options name stay files of their own. Errors: as open, and
  // argument (out_path is the model itself).
  static Status prepare(const std::string& path, const std::string& out_path, const ModelOptions& options,
                        const LoadProgress& progress);

  const Kernels& kernels() const { return *kernels_; }  // of a model that was opened with its weights
  const Network& network() const { return network_; }
  const ModelConfig& config() const { return network_.config; }
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  // nullptr: the model can neither see nor hear.
  const Towers* towers() const { return towers_.get(); }
  // The pictures and sounds that its sessions can evaluate.
  MediaPool& media() const { return media_; }
  // The tensor type that holds most bytes of the layers' matrices: "Q4_0".
  const char* quantisation() const { return quantisation_; }
  // Computed on the first call, from any thread.
  const Fingerprint& fingerprint() const;
  uint64_t ple_bytes() const { return network_.ple == nullptr ? 0 : network_.ple->size_bytes(); }

 private:
  Model(std::shared_ptr<MappedFile> file, std::unique_ptr<TensorSource> source, Network network);
  static StatusOr<std::shared_ptr<Model>> read_headers(const std::string& path, const ModelOptions& options);
  std::shared_ptr<MappedFile> file_;
  std::unique_ptr<TensorSource> source_;
  Network network_;
  const Kernels* kernels_ = nullptr;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const Towers> towers_;
  mutable MediaPool media_;
  std::optional<PreparedHeader> prepared_;  // of the model's file, if it is a prepared one
  const char* quantisation_ = "";
  mutable std::once_flag fingerprint_once_;
  mutable Fingerprint fingerprint_{};
};
}  // namespace g4
