#include "session/session.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "base/cpu.h"
#include "base/media_token.h"

namespace g4 {
namespace {
constexpr size_t kInlineRows = 16;  // sessions that decode together without allocating

constexpr int kMaxChunk = 8192;

// Fills in the defaults. Errors: argument, naming option and value.
StatusOr<SessionOptions> resolve(const ModelConfig& config, SessionOptions options) {
  if (options.context == 0) options.context = std::min(config.context_length, kDefaultContext);
  if (options.context < 1 || options.context > config.context_length)
    return argument_error(
        StrCat("context is ", options.context, "; this model allows 1 to ", config.context_length));
  G4_ASSIGN_OR_RETURN(options.thread_count, resolve_thread_count(options.thread_count));
  if (options.chunk == 0) options.chunk = kDefaultChunk;
  if (options.chunk < 1 || options.chunk > kMaxChunk)
    return argument_error(StrCat("chunk is ", options.chunk, "; allowed are 1 to ", kMaxChunk));
  if (options.rewind_margin < 0)
    return argument_error(StrCat("rewind margin is ", options.rewind_margin, "; it must not be negative"));
  options.chunk = std::min(options.chunk, options.context);
  return options;
}

uint64_t ns_since(std::chrono::steady_clock::time_point start) {
  return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
}
}  // namespace

Session::Session(std::shared_ptr<const Model> model, const SessionOptions& options, KvStore kv)
    : model_(std::move(model)),
      options_(options),
      kv_(std::move(kv)),
      layer_rows_(model_->config().layers.size()) {}

StatusOr<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Model> model,
                                                   const SessionOptions& requested) {
  G4_ASSIGN_OR_RETURN(const SessionOptions options, resolve(model->config(), requested));
  KvStore kv(model->network().kv_meta, options.kv_type, options.rewind_margin);
  std::unique_ptr<Session> session(new Session(std::move(model), options, std::move(kv)));
  const ModelConfig& config = session->model().config();
  const size_t V = static_cast<size_t>(config.vocab_size);
  const std::vector<int> cores = options.pin_threads ? physical_cores() : std::vector<int>();
  G4_ASSIGN_OR_RETURN(session->pool_, ThreadPool::create(options.thread_count, cores));
  G4_ASSIGN_OR_RETURN(session->logits_, AlignedBuffer<float>::create(V));
  G4_ASSIGN_OR_RETURN(session->next_logits_, AlignedBuffer<float>::create(V));
  G4_RETURN_IF_ERROR(session->activations_.reserve(config, 1, static_cast<size_t>(options.thread_count)));
  session->forward_ =
      std::make_unique<Forward>(session->model().network(), session->kernels(), options.precision,
                                *session->pool_, session->activations_, session->cancel_);
  session->sampler_ = std::make_unique<Sampler>(V);
  session->tokens_.reserve(static_cast<size_t>(options.context));
  return session;
}

StatusOr<MemoryEstimate> Session::estimate(const Model& model, const SessionOptions& requested) {
  G4_ASSIGN_OR_RETURN(const SessionOptions options, resolve(model.config(), requested));
  MemoryEstimate estimate;
  estimate.weights = model.network().weights.mapped_bytes;
  if (model.towers() != nullptr) estimate.weights += model.towers()->mapped_bytes;
  estimate.ple_disk = model.ple_bytes();
  estimate.kv = KvStore::full_size_bytes(model.network().kv_meta, options.kv_type, options.rewind_margin,
                                         options.context, options.chunk);
  const uint64_t V = static_cast<uint64_t>(model.config().vocab_size),
                 context = static_cast<uint64_t>(options.context);
  estimate.scratch = Activations::estimate_bytes(model.config(), static_cast<size_t>(options.chunk),
                                                 static_cast<size_t>(options.thread_count)) +
                     2 * V * sizeof(float) + Sampler::size_bytes(V) + context * sizeof(int32_t);
  return estimate;
}

uint64_t Session::scratch_bytes() const {
  return Activations::estimate_bytes(model().config(), activations_.row_capacity,
                                     static_cast<size_t>(pool_->size())) +
         logits_.size_bytes() + next_logits_.size_bytes() + Sampler::size_bytes(logits_.size()) +
         tokens_.capacity() * sizeof(int32_t);
}

StatusOr<std::unique_ptr<Session>> Session::fork() {
  Busy busy(*this);
  G4_RETURN_IF_ERROR(busy.status());
  G4_ASSIGN_OR_RETURN(std::unique_ptr<Session> copy, create(model_, options_));
  copy->kv_ = kv_.fork();
  copy->tokens_.assign(tokens_.begin(), tokens_.end());
  copy->generated_begin_ = generated_begin_;
  copy->has_logits_ = has_logits_;
  if (has_logits_) std::memcpy(copy->logits_.data(), logits_.data(), logits_.size_bytes());
  return copy;
}

Session::Busy::Busy(Session& session) : session_(session) {
  bool expected = false;
  if (session_.busy_.compare_exchange_strong(expected, true, std::memory_order_acq_rel))
    session_.cancel_.store(false, std::memory_order_relaxed);
  else
    status_ = state_error("another call is running on this session; a session serves one call at a time");
}
Session::Busy::~Busy() {
  if (status_.ok()) session_.busy_.store(false, std::memory_order_release);
}

Status Session::prefill(std::span<const int32_t> tokens, float* all_logits, const PrefillProgress& progress) {
  Busy busy(*this);
  G4_RETURN_IF_ERROR(busy.status());
  return evaluate(tokens, all_logits, progress);
}

Status Session::evaluate(std::span<const int32_t> tokens, float* all_logits,
                         const PrefillProgress& progress) {
  Session* const self = this;
  return evaluate_batch({&self, 1}, {&tokens, 1}, all_logits, progress);
}

Status Session::prefill_batch(std::span<Session* const> sessions,
                              std::span<const std::span<const int32_t>> tokens) {
  std::vector<std::unique_ptr<Busy>> busy;
  for (Session* session : sessions) {
    if (session->model_ != sessions[0]->model_)
      return argument_error("the sessions of a batch must be forks of one another");
    busy.push_back(std::make_unique<Busy>(*session));
    if (!busy.back()->status().ok())
      return std::count(sessions.begin(), sessions.end(), session) > 1
                 ? argument_error("a session stands in the batch twice")
                 : busy.back()->status();
  }
  return evaluate_batch(sessions, tokens, nullptr, {});
}

Status Session::check_tokens(std::span<const int32_t> tokens, int position) const {
  if (tokens.empty()) return argument_error("no tokens: a prefill takes at least one");
  const size_t left = static_cast<size_t>(options_.context - position);
  if (tokens.size() > left)
    return context_full_error(StrCat(tokens.size(), " tokens do not fit: position ", position,
                                     " of a context of ", options_.context, " leaves room for ", left));
  for (size_t i = 0; i < tokens.size(); ++i)
    if ((tokens[i] < 0 && !is_media(tokens[i])) || tokens[i] >= model().config().vocab_size)
      return argument_error(StrCat("token ", tokens[i], " at index ", i, " is outside the vocabulary of ",
                                   model().config().vocab_size));
  return absl::OkStatus();
}

Status Session::evaluate_batch(std::span<Session* const> sessions,
                               std::span<const std::span<const int32_t>> tokens, float* all_logits,
                               const PrefillProgress& progress) {
  const auto start = std::chrono::steady_clock::now();
  size_t count = 0, longest_run = 0;
  absl::InlinedVector<StepInput, kInlineRows> inputs;
  for (size_t i = 0; i < sessions.size(); ++i) {
    G4_RETURN_IF_ERROR(sessions[i]->check_tokens(tokens[i], sessions[i]->position()));
    G4_ASSIGN_OR_RETURN(StepInput input, sessions[i]->make_input(tokens[i]));
    longest_run = std::max(longest_run, input.longest_whole_run());
    inputs.push_back(std::move(input));
    count += tokens[i].size();
  }
  Session& lead = *sessions[0];
  const size_t step = std::max(std::min(count, static_cast<size_t>(lead.options_.chunk)), longest_run);
  if (lead.activations_.row_capacity < step)
    G4_RETURN_IF_ERROR(
        lead.activations_.reserve(lead.model().config(), step, static_cast<size_t>(lead.pool_->size())));

  for (Session* session : sessions) session->kv_.begin_append();
  if (Status status = lead.run_rows(inputs, all_logits, progress); !status.ok()) {
    for (Session* session : sessions) session->kv_.rollback();
    return status;
  }
  const uint64_t ns = ns_since(start);
  for (size_t i = 0; i < sessions.size(); ++i) {
    Session& session = *sessions[i];
    session.kv_.commit();
    session.tokens_.insert(session.tokens_.end(), tokens[i].begin(), tokens[i].end());
    session.generated_begin_ = session.tokens_.size();
    std::swap(session.logits_, session.next_logits_);
    session.has_logits_ = true;
    if (tokens[i].size() > 1)
      session.kv_.mark();  // the end of a prompt: where a conversation may have to come back to
    (tokens[i].size() == 1 ? session.stats_.decode_tokens : session.stats_.prefill_tokens) +=
        tokens[i].size();
    (tokens[i].size() == 1 ? session.stats_.decode_ns : session.stats_.prefill_ns) += ns;
  }
  return absl::OkStatus();
}

// All tokens of all sessions as one list of rows, a chunk at a time.
Status Session::run_rows(std::span<const StepInput> inputs, float* all_logits,
                         const PrefillProgress& progress) {
  const size_t V = logits_.size(),
               chunk = std::min(activations_.row_capacity, static_cast<size_t>(options_.chunk));
  size_t total = 0, done = 0;
  for (const StepInput& input : inputs) total += input.tokens.size();
  absl::InlinedVector<Row, kInlineRows> rows;
  rows.reserve(std::min(total, activations_.row_capacity));
  for (size_t s = 0, next = 0; done < total; done += rows.size()) {
    if (progress && !progress(done, total)) return cancelled_error();
    rows.clear();
    while (s < inputs.size() && rows.size() < chunk) {
      const StepInput& input = inputs[s];
      Session& session = *input.session;
      const size_t count = input.step_count(next, chunk - rows.size(), rows.empty());
      if (count == 0) break;
      const int position = session.kv_.position();
      G4_RETURN_IF_ERROR(session.kv_.prepare_step(static_cast<int>(count)));
      for (size_t i = 0; i < count; ++i) {
        const bool last = next + i + 1 == input.tokens.size();
        float* logits = all_logits != nullptr ? all_logits + (next + i) * V
                        : last                ? session.next_logits_.data()
                                              : nullptr;
        rows.push_back(input.row(next + i, position + static_cast<int>(i), logits));
      }
      next += count;
      if (next == input.tokens.size()) ++s, next = 0;
    }
    PassProgress layers;
    if (progress)
      layers = [&](int layer, int count) {
        return progress(done + rows.size() * static_cast<size_t>(layer) / static_cast<size_t>(count), total);
      };
    G4_RETURN_IF_ERROR(forward_->run(rows, layer_rows_, tap_ ? &tap_ : nullptr, layers));
  }
  if (all_logits != nullptr)
    std::memcpy(next_logits_.data(), all_logits + (total - 1) * V, V * sizeof(float));
  return progress && !progress(total, total) ? cancelled_error() : absl::OkStatus();
}

StatusOr<int32_t> Session::sample(const SamplingOptions& options) {
  Busy busy(*this);
  G4_RETURN_IF_ERROR(busy.status());
  return pick(options);
}

StatusOr<int32_t> Session::pick(const SamplingOptions& options) {
  if (!has_logits_) return state_error("there are no logits to pick from: evaluate at least one token first");
  G4_RETURN_IF_ERROR(check_sampling(options, logits_.size()));
  return sampler_->pick(logits_.span(), tokens_, std::span(tokens_).subspan(generated_begin_), tokens_.size(),
                        options);
}

StatusOr<int32_t> Session::decode(const SamplingOptions& options) {
  Busy busy(*this);
  G4_RETURN_IF_ERROR(busy.status());
  G4_ASSIGN_OR_RETURN(const int32_t token, pick(options));
  G4_RETURN_IF_ERROR(append_generated(token));
  return token;
}

Status Session::append_generated(int32_t token) {
  const size_t generated_begin = generated_begin_;
  G4_RETURN_IF_ERROR(evaluate({&token, 1}, nullptr, {}));
  generated_begin_ = generated_begin;
  return absl::OkStatus();
}
}  // namespace g4
