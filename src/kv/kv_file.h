// KV state on disk: what a session needs to go on, verified before any of it is used. docs/FORMATS.md
// describes the bytes.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "kv/kv_store.h"
#include "model/fingerprint.h"

namespace g4 {
// What a file must agree with to be of use: the model, and the type and shape of its KV.
struct KvIdentity {
  Fingerprint model;
  const KvMeta* meta;
  KvType type;
};

// What belongs to the KV state besides K and V.
struct KvState {
  std::span<const int32_t> tokens;  // one per position, those of media as base/media_token.h says
  size_t generated_begin = 0;       // tokens from here on were generated since the last prefill
  std::span<const float> logits;    // [V] after the last token, or empty
};

// How many of the tokens held are of use to a prompt: the longest common prefix, but one token of the prompt
// is left to evaluate unless its logits are held too.
size_t usable_prefix(std::span<const int32_t> held, bool has_logits, std::span<const int32_t> prompt);

struct KvFileInfo {
  Fingerprint model{};
  std::string kv_type;
  std::vector<int32_t> tokens;
  bool has_logits = false;
  uint64_t rewind_min = 0;  // the lowest position at which a session that loads it can go on exactly
  uint64_t size_bytes = 0;

  // How many positions of a prompt it gives: the usable prefix, if that is exact, else 0. An empty prompt
  // takes all.
  size_t restorable(std::span<const int32_t> prompt) const;
};

// Writes a temporary file beside `path`, syncs it and renames it: whatever goes wrong, an old file of this
// name stays whole. Returns the bytes written. Errors: io (the message has path and reason), memory.
StatusOr<uint64_t> save_kv(const std::string& path, const KvIdentity& identity, const KvStore& store,
                           const KvState& state);

struct LoadedKv {
  KvFileInfo info;
  KvStore store;
  size_t generated_begin;
  std::vector<float> logits;  // [V], or empty
};
// Reads and verifies a whole file. max_position: of the session's context; vocab_size bounds the tokens.
// Errors: io, format (damaged: says where), mismatch (another model, type or geometry), context_full, memory.
StatusOr<LoadedKv> load_kv(const std::string& path, const KvIdentity& identity, int rewind_margin,
                           int max_position, int vocab_size);

// The header alone. Errors: io, format.
StatusOr<KvFileInfo> probe_kv(const std::string& path);
}  // namespace g4
