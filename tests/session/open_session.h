// Opening reference models in tests.
#pragma once
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "session/session.h"
#include "tests/support/test_data.h"

namespace g4 {
inline const std::vector<std::string> kTinyModels = {"e2b-tiny", "e4b-tiny", "dense31b-tiny", "moe26b-tiny"};

// float32 KV and activations, so that only the order of sums differs from the reference.
inline SessionOptions exact_options() {
  SessionOptions options;
  options.kv_type = KvType::kF32;
  options.precision = Precision::kF32;
  options.thread_count = 1;
  return options;
}

inline std::shared_ptr<const Model> open_path(const std::string& path, const ModelOptions& options = {}) {
  auto model = Model::open(path, options, {});
  INFO(model.status().message());
  REQUIRE(model.ok());
  return *std::move(model);
}

inline std::shared_ptr<const Model> open_model(const std::string& golden_relative,
                                               const ModelOptions& options = {}) {
  return open_path(golden_path(golden_relative), options);
}

// The demo model that is bundled.
inline std::shared_ptr<const Model> open_demo() {
  return open_path(golden_source_path("../../examples/models/g4-demo-q8_0.gguf"));
}

inline std::unique_ptr<Session> new_session(std::shared_ptr<const Model> model,
                                            const SessionOptions& options) {
  auto session = Session::create(std::move(model), options);
  INFO(session.status().message());
  REQUIRE(session.ok());
  return *std::move(session);
}

inline std::unique_ptr<Session> open_tiny(const std::string& name,
                                          const SessionOptions& options = exact_options()) {
  return new_session(open_model("tiny/" + name + "/model.gguf"), options);
}

// `count` ids of the tiny models' normal tokens, the same for the same seed.
inline std::vector<int32_t> some_tokens(size_t count, uint32_t seed = 1) {
  std::vector<int32_t> tokens(count);
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    tokens[i] = i == 0 ? 2 : static_cast<int32_t>(300 + (seed >> 8) % 300);
  }
  return tokens;
}

inline std::vector<float> logits_of(Session& session) {
  return {session.logits().begin(), session.logits().end()};
}

// Evaluates tokens in calls of `call` tokens.
inline void feed(Session& session, std::span<const int32_t> tokens, size_t call) {
  for (size_t i = 0; i < tokens.size(); i += call) {
    const Status status = session.prefill(tokens.subspan(i, std::min(call, tokens.size() - i)), nullptr, {});
    INFO(status.message());
    REQUIRE(status.ok());
  }
}

// The logits at every position, all at once: no pruning.
inline std::vector<float> all_logits(Session& session, std::span<const int32_t> tokens) {
  std::vector<float> logits(tokens.size() * static_cast<size_t>(session.model().config().vocab_size));
  const Status status = session.prefill(tokens, logits.data(), {});
  INFO(status.message());
  REQUIRE(status.ok());
  return logits;
}

inline std::vector<float> row(const std::vector<float>& logits, size_t i, size_t V) {
  return {logits.begin() + static_cast<ptrdiff_t>(i * V),
          logits.begin() + static_cast<ptrdiff_t>((i + 1) * V)};
}
}  // namespace g4
