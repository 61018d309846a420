// A session: one conversation with a model. Owns (with its forks) the weights and the PLE table on disk, the
// KV registry and its own KV store, and offers prefill, decode, reset, fork, truncate.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"
#include "kernels/table.h"
#include "kv/kv_cache.h"
#include "kv/kv_file.h"
#include "kv/kv_store.h"
#include "media/encode.h"
#include "media/media_prompt.h"
#include "nn/forward.h"
#include "session/model.h"
#include "session/sampler.h"

namespace g4 {
struct SessionOptions {
  int context = 0;       // positions; 0: the model's maximum, at most kDefaultContext
  int thread_count = 0;  // 0: physical cores
  int chunk = 0;         // rows a step takes at most; 0: kDefaultChunk
  KvType kv_type = KvType::kF16;
  Precision precision = Precision::kInt8;
  int rewind_margin = kRewindMargin;
  bool pin_threads = false;  // each worker thread to a core
};
inline constexpr int kDefaultContext = 32768;
inline constexpr int kDefaultChunk = 256;

struct SessionStats {
  uint64_t prefill_tokens = 0, prefill_ns = 0;  // calls that evaluated more than one token
  uint64_t decode_tokens = 0, decode_ns = 0;    // calls that evaluated one
};

struct MemoryEstimate {
  uint64_t weights = 0, ple_disk = 0, kv = 0, scratch = 0;
};

class Session;
// Tokens for a session, with the runs of media among them.
struct StepInput {
  struct Place {
    size_t begin;  // in tokens
    MediaRunPtr run;
    bool sees_itself;  // must be evaluated in one step
    size_t end() const { return begin + run->row_count(); }
  };
  Session* session;
  KvStore* kv;
  std::span<const int32_t> tokens;
  std::vector<Place> media;
  size_t longest_whole_run() const;
  // How many tokens from `begin` on go into a step that has room for so many. 0: the run that comes next
  // wants a step of its own; in an empty step it gets it even if it is longer than `room`.
  size_t step_count(size_t begin, size_t room, bool is_empty) const;
  // The row of token i at this position.
  Row row(size_t i, int position, float* logits) const;
};

// (tokens done, tokens in all) -> false to stop.
using PrefillProgress = std::function<bool(size_t, size_t)>;

// What extend_cached did.
struct CacheUse {
  size_t reused = 0;           // positions kept or restored
  uint64_t written_bytes = 0;  // of the file that was written; 0: none
  Status status;               // what was wrong with the cache, if anything
};

class Session {
 public:
  // Errors: argument (an option), memory.
  static StatusOr<std::unique_ptr<Session>> create(std::shared_ptr<const Model> model,
                                                   const SessionOptions& options);
  // What create and a full context would take.
  static StatusOr<MemoryEstimate> estimate(const Model& model, const SessionOptions& options);
  // An exact copy that goes its own way; KV pages are shared until written. Errors: state (busy), memory.
  StatusOr<std::unique_ptr<Session>> fork();

  // Appends tokens; all or nothing. Afterwards logits() are those after the last token. all_logits: nullptr,
  // or [tokens, V]. Errors: argument (an id outside the vocabulary), context_full, cancelled, io, memory,
  // state (busy).
  Status prefill(std::span<const int32_t> tokens, float* all_logits, const PrefillProgress& progress);
  // The same for several sessions of one model in one pass. All or nothing.
  static Status prefill_batch(std::span<Session* const> sessions,
                              std::span<const std::span<const int32_t>> tokens);
  // Pictures and sounds to what stands for them in a prompt: a run can be evaluated by its tokens, by any
  // session of this model, as long as somebody holds it. Errors: as g4::encode_image and encode_sound;
  // unsupported (the model was opened without towers), state (busy).
  StatusOr<Media> encode_image(const ImageView& image, int budget);
  StatusOr<Media> encode_video(std::span<const ImageView> frames, std::span<const uint64_t> times_ns,
                               int budget);
  StatusOr<Media> encode_sound(const SoundView& sound, bool split);
  // Picks a token from logits(). Errors: state (no logits, busy), argument (an option).
  StatusOr<int32_t> sample(const SamplingOptions& options);
  // sample, then the token is evaluated. Errors: as both.
  StatusOr<int32_t> decode(const SamplingOptions& options);
  Status reset() { return truncate(0); }
  // Forgets all from `position` on. Where that is not exact: a state error that says how far back is, or,
  // with reevaluate, a reset and a prefill of the tokens that stay. Errors: argument (beyond the end), state
  // (busy), with reevaluate as prefill.
  Status truncate(int position, bool reevaluate = false);
  // Makes the session hold exactly these tokens: keeps the longest common prefix it can keep exactly,
  // evaluates the rest. Returns the number of positions kept. All or nothing. Errors: as prefill.
  StatusOr<size_t> extend(std::span<const int32_t> tokens, const PrefillProgress& progress);
  // extend with a cache on disk: begins with the file that gives most, if that is more than the session
  // holds, and keeps the state after `tokens` there. What is wrong with the cache is told in the result and
  // never makes the call fail. All or nothing. Errors: as prefill.
  StatusOr<CacheUse> extend_cached(std::span<const int32_t> tokens, const CacheOptions& cache,
                                   const PrefillProgress& progress);
  // The whole state to a file; bytes written. Errors: io, memory, state (busy).
  StatusOr<uint64_t> save_kv(const std::string& path);
  // The state of a file instead of the present one; positions restored. tokens: empty, or a prompt: then only
  // the longest common prefix with it that is exact is restored, and at least one token of it is left to
  // evaluate unless the file has its logits. All or nothing. Errors: io, format, mismatch (model, KV type or
  // geometry), context_full, memory, state (busy).
  StatusOr<size_t> load_kv(const std::string& path, std::span<const int32_t> tokens);
  // Ends the running call soon; from any thread, and from a signal handler. Without a running call it does
  // nothing.
  void cancel() {
    if (busy_.load(std::memory_order_acquire)) cancel_.store(true, std::memory_order_release);
  }

  const Model& model() const { return *model_; }
  const SessionOptions& options() const { return options_; }  // with the defaults filled in
  const Kernels& kernels() const { return model_->kernels(); }
  int position() const { return kv_.position(); }
  int rewind_min() const { return kv_.rewind_min(); }
  uint64_t reused_tokens() const { return reused_tokens_; }  // kept by extend or restored by load_kv, in all
  std::span<const int32_t> tokens() const { return tokens_; }
  // The logits after the last position [V], or empty. May be changed in place before a sample.
  std::span<float> logits() { return has_logits_ ? logits_.span() : std::span<float>(); }
  const SessionStats& stats() const { return stats_; }
  std::span<const uint64_t> layer_rows() const { return layer_rows_; }
  uint64_t kv_bytes() const { return kv_.size_bytes(); }
  uint64_t scratch_bytes() const;
  // Listens to intermediate values of the passes to come; nullptr stops it.
  void set_tap(Tap tap) { tap_ = std::move(tap); }

  // Holds the session for one call. Nested calls from callbacks of the holder fail with a state error.
  class Busy {
   public:
    explicit Busy(Session& session);
    ~Busy();
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    const Status& status() const { return status_; }

   private:
    Session& session_;
    Status status_;
  };
  // As the public ones, for a caller that holds Busy.
  Status evaluate(std::span<const int32_t> tokens, float* all_logits, const PrefillProgress& progress);
  StatusOr<size_t> evaluate_whole(std::span<const int32_t> tokens, const PrefillProgress& progress);
  StatusOr<int32_t> pick(const SamplingOptions& options);
  Status append_generated(int32_t token);

 private:
  Session(std::shared_ptr<const Model> model, const SessionOptions& options, KvStore kv);
  // All that a prompt changes, to go back to if it fails.
  struct State {
    KvStore kv;
    std::vector<int32_t> tokens;
    size_t generated_begin;
    std::vector<float> logits;  // [V], or empty
  };
  State state() const;
  void set_state(State state);

  KvIdentity identity() const;
  void forget_from(int position);
  int keepable(std::span<const int32_t> tokens) const;
  StatusOr<uint64_t> save(const std::string& path) const;
  StatusOr<size_t> load(const std::string& path, std::span<const int32_t> tokens);
  StatusOr<KvCache::Found> restore(std::span<const int32_t> tokens, const KvCache& cache);
  // The highest position up to this one at which truncate is exact: never within a run of media.
  int nearest_exact(int position) const;
  static Status evaluate_batch(std::span<Session* const> sessions,
                               std::span<const std::span<const int32_t>> tokens, float* all_logits,
                               const PrefillProgress& progress);
  Status check_tokens(std::span<const int32_t> tokens, int position) const;  // may they follow at `position`?
  StatusOr<StepInput> make_input(std::span<const int32_t> tokens);
  Status run_rows(std::span<const StepInput> inputs, float* all_logits, const PrefillProgress& progress);

  std::shared_ptr<const Model> model_;
  SessionOptions options_;
  KvStore kv_;
  std::unique_ptr<ThreadPool> pool_;
  Activations activations_;
  std::unique_ptr<Forward> forward_;
  std::vector<int32_t> tokens_;
  size_t generated_begin_ = 0;  // tokens_ from here on were generated since the last prefill
  AlignedBuffer<float> logits_,
      next_logits_;  // [V]; a pass writes the second, which replaces the first if all went well
  bool has_logits_ = false;
  std::unique_ptr<Sampler> sampler_;
  SessionStats stats_;
  uint64_t reused_tokens_ = 0;
  std::vector<uint64_t> layer_rows_;
  Tap tap_;
  std::atomic<bool> busy_{false}, cancel_{false};
};
}  // namespace g4
