// The forward pass of a Gemma 4 text network over a batch of rows, from any number of sessions.
#pragma once
#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"
#include "kernels/table.h"
#include "kv/kv_store.h"
#include "nn/activations.h"
#include "nn/linear.h"
#include "nn/network.h"
#include "nn/taps.h"

namespace g4 {
// One token of one session. The rows of a session stand in the batch in the order of their positions, and its
// KV store is prepared for them.
struct Row {
  KvStore* kv;
  int position;
  int32_t token;                     // of media: the one whose per-layer embedding it takes
  float* logits;                     // [V], written; nullptr: nobody reads this row's output
  const float* embedding = nullptr;  // [D] of media, taken as it is; nullptr: that of the token
  int seen_until = 0;  // positions before this are seen too in sliding layers: rows of an image see all of it
};

// (layers done, layers that all rows go through) -> false to stop.
using PassProgress = std::function<bool(int, int)>;

class Forward {
 public:
  // All referenced objects must outlive this one; activations must hold the rows of a batch.
  Forward(const Network& network, const Kernels& kernels, Precision precision, ThreadPool& pool,
          Activations& activations, const std::atomic<bool>& cancel);

  // Writes the K and V of all rows into their stores, and the logits that are asked for. tap may be nullptr.
  // layer_rows [L] counts the rows each layer runs in full. Errors: cancelled, argument (a token without
  // per-layer embedding), io. Stores and logits are then partly written.
  Status run(std::span<const Row> rows, std::span<uint64_t> layer_rows, const Tap* tap = nullptr,
             const PassProgress& progress = {});

 private:
  // The steps of a pass, in order. Each works on rows_, the rows still running.
  void embed();
  Status ple_identity();                             // ple_TLP = table rows
  void ple_context(int layer_begin, int layer_end);  // and the projection of the embeddings, for these layers
  void project(int layer, bool query, bool key_value);
  void write_kv(int layer);
  void keep_wanted_rows();
  void attention(int layer);
  void feed_forward(int layer);
  void mixture_of_experts(int layer);  // adds to block_TD
  void route(int layer);               // choices_ = the experts of every row
  void ple_gate(int layer);
  void logits();

  struct Tile {  // rows [begin, end) of one session
    size_t begin, end;
  };
  void attend(const Tile& tile, int layer, size_t head_begin, size_t head_end);
  // out = norm(x) · w for T rows of D.
  void norm_rows(const float* x, Vector weight, float* out);
  // x_TD += norm(block_TD) · w
  void add_normed_block(Vector weight);
  template <typename Body>
  void for_rows(Body&& body) {  // body(t), shared out over the threads
    pool_.parallel_for(rows_.size(), 1, [&](size_t begin, size_t end) {
      for (size_t t = begin; t < end; ++t) body(t);
    });
  }
  const LayerWeights& weights(int layer) const { return net_.weights.layers[static_cast<size_t>(layer)]; }
  const LayerConfig& config(int layer) const { return net_.config.layers[static_cast<size_t>(layer)]; }
  void tap(std::string_view name, int layer, const float* values, size_t cols) const {
    if (tap_ != nullptr) (*tap_)(name, layer, values, T(), cols);
  }
  size_t ple_width() const { return net_.config.layers.size() * static_cast<size_t>(net_.config.ple_dim); }
  size_t T() const { return rows_.size(); }
  bool cancelled() const { return cancel_.load(std::memory_order_relaxed); }

  const Network& net_;
  const Kernels& kernels_;
  ThreadPool& pool_;
  Activations& act_;
  const std::atomic<bool>& cancel_;
  Linear linear_;
  const size_t D_;
  std::vector<double> rope_sliding_, rope_full_;  // frequencies
  const Tap* tap_ = nullptr;                      // of the pass that runs
  std::vector<Row> rows_;
  std::vector<int32_t> tokens_;
  std::vector<Tile> tiles_;
  struct Choice {  // an expert of a token
    int expert;
    uint32_t row;
    float weight;
  };
  std::vector<Choice> choices_;  // of a batch, sorted by expert
  std::vector<int> order_;       // scratch [X]
};
}  // namespace g4
