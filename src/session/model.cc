#include "session/model.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/cpu.h"
#include "io/gguf.h"
#include "model/read_config.h"

namespace g4 {
namespace {
constexpr std::string_view kPleTable = "per_layer_token_embd.weight";

struct OpenGguf {
  std::shared_ptr<MappedFile> file;
  std::unique_ptr<TensorSource> source;
};

StatusOr<OpenGguf> open_file(const std::string& path) {
  OpenGguf opened;
  G4_ASSIGN_OR_RETURN(opened.file, MappedFile::open(path));
  G4_ASSIGN_OR_RETURN(opened.source, open_gguf(opened.file));
  return opened;
}

StatusOr<std::unique_ptr<DiskEmbedding>> open_ple(const OpenGguf& model, const ModelConfig& config,
                                                  const ModelOptions& options) {
  if (options.ple_path.empty())
    return DiskEmbedding::open(model.file, *model.source, config, options.ple_mode);
  G4_ASSIGN_OR_RETURN(OpenGguf own, open_file(options.ple_path));
  return DiskEmbedding::open(own.file, *own.source, config, options.ple_mode);
}

StatusOr<const Kernels*> find_kernels(const std::string& name) {
  const Kernels* kernels = select_kernels(detect_cpu_features(), name.empty() ? nullptr : name.c_str());
  if (kernels == nullptr)
    return argument_error(StrCat(
        "cpu \"", name, "\" is unknown or not supported by this machine; g4_cpus() lists those that are"));
  return kernels;
}

// Bytes of the file before its tensors.
uint64_t metadata_bytes(const TensorSource& source) {
  uint64_t begin = UINT64_MAX;
  for (const TensorView& tensor : source.tensors()) begin = std::min(begin, tensor.offset);
  return begin;
}

const char* most_used_type(const TensorSource& source) {
  std::array<uint64_t, kDTypeCount> bytes{};
  for (const TensorView& tensor : source.tensors())
    if (tensor.name.starts_with("blk.") && tensor.shape.size() >= 2)
      bytes[static_cast<size_t>(tensor.type)] += tensor.size_bytes;
  return dtype_info(static_cast<DType>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin())).name;
}
}  // namespace

StatusOr<int> resolve_thread_count(int requested) {
  constexpr int kMaxThreads = 512;
  if (requested == 0) return std::min(static_cast<int>(physical_cores().size()), kMaxThreads);
  if (requested < 1 || requested > kMaxThreads)
    return argument_error(StrCat("thread count is ", requested, "; allowed are 1 to ", kMaxThreads));
  return requested;
}

Model::Model(std::shared_ptr<MappedFile> file, std::unique_ptr<TensorSource> source, Network network)
    : file_(std::move(file)),
      source_(std::move(source)),
      network_(std::move(network)),
      quantisation_(most_used_type(*source_)) {}

StatusOr<std::shared_ptr<Model>> Model::read_headers(const std::string& path, const ModelOptions& options) {
  G4_ASSIGN_OR_RETURN(OpenGguf opened, open_file(path));
  G4_ASSIGN_OR_RETURN(ModelConfig config, read_config(*opened.source));
  G4_ASSIGN_OR_RETURN(const auto prepared, read_prepared_header(opened.file->bytes()));
  G4_ASSIGN_OR_RETURN(Weights weights, load_weights(*opened.source, config));
  if (prepared) mark_prepared(weights, prepared->lanes);
  std::unique_ptr<DiskEmbedding> ple;
  if (config.ple_dim > 0) {
    G4_ASSIGN_OR_RETURN(ple, open_ple(opened, config, options));
  }
  std::shared_ptr<const Towers> towers;
  if (!options.mmproj_path.empty()) {
    G4_ASSIGN_OR_RETURN(towers, open_towers(options.mmproj_path, config.hidden_dim));
  }
  KvMeta kv_meta(config);
  Network network{std::move(config), std::move(weights), std::move(kv_meta), std::move(ple)};
  std::shared_ptr<Model> model(
      new Model(std::move(opened.file), std::move(opened.source), std::move(network)));
  model->towers_ = std::move(towers);
  model->prepared_ = prepared;
  return model;
}

StatusOr<std::shared_ptr<const Model>> Model::open(const std::string& path, const ModelOptions& options,
                                                   const LoadProgress& progress) {
  G4_ASSIGN_OR_RETURN(const Kernels* kernels, find_kernels(options.cpu));
  G4_ASSIGN_OR_RETURN(const int threads, resolve_thread_count(options.thread_count));
  G4_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool, ThreadPool::create(threads));
  G4_ASSIGN_OR_RETURN(std::shared_ptr<Model> model, read_headers(path, options));
  G4_ASSIGN_OR_RETURN(model->tokenizer_, Tokenizer::from_metadata(*model->source_, pool.get()));
  if (model->tokenizer_->vocab_size() != model->config().vocab_size)
    return format_error(StrCat("tokenizer.ggml.tokens has ", model->tokenizer_->vocab_size(),
                               " tokens, but token_embd.weight has ", model->config().vocab_size, " rows"));
  G4_RETURN_IF_ERROR(pack_weights(model->network_.weights, kernels->lanes, *model->file_, *pool, progress));
  model->kernels_ = kernels;
  model->file_->drop(0, metadata_bytes(*model->source_));  // the tokenizer has what it needs
  return std::shared_ptr<const Model>(std::move(model));
}

StatusOr<std::shared_ptr<const Model>> Model::open_headers(const std::string& path,
                                                           const ModelOptions& options) {
  return read_headers(path, options);
}

Status Model::prepare(const std::string& path, const std::string& out_path, const ModelOptions& options,
                      const LoadProgress& progress) {
  std::error_code ignored;
  if (std::filesystem::equivalent(path, out_path, ignored))
    return argument_error(StrCat(out_path, " is the model itself; give the prepared file another name"));
  G4_ASSIGN_OR_RETURN(const Kernels* kernels, find_kernels(options.cpu));
  G4_ASSIGN_OR_RETURN(const int threads, resolve_thread_count(options.thread_count));
  G4_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool, ThreadPool::create(threads));
  G4_ASSIGN_OR_RETURN(std::shared_ptr<Model> model, read_headers(path, options));
  G4_RETURN_IF_ERROR(Tokenizer::from_metadata(*model->source_, pool.get()).status());
  G4_ASSIGN_OR_RETURN(FileWriter out, FileWriter::create(out_path, 0644));
  G4_RETURN_IF_ERROR(
      out.write(write_prepared_header({static_cast<uint32_t>(kernels->lanes), model->fingerprint()})));
  G4_RETURN_IF_ERROR(write_packed(model->network_.weights, kernels->lanes, *model->file_,
                                  model->prepared_ ? kPreparedHeaderBytes : 0, *pool, progress, out));
  return out.commit();
}

const Fingerprint& Model::fingerprint() const {
  std::call_once(fingerprint_once_, [this] {
    fingerprint_ = prepared_ ? prepared_->model : g4::fingerprint(*source_, config());
  });
  return fingerprint_;
}
}  // namespace g4
