// KV files that are found again by the tokens they hold: a folder of them, or a single one. Any number of
// processes may share a cache: a file appears whole, by a rename, and one that is deleted while another
// process reads it stays readable there.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "kv/kv_file.h"

namespace g4 {
struct CacheOptions {
  std::string path;  // of a folder, made if it is missing, or of a KV file
  bool is_file = false;
  uint64_t limit_bytes = 4ull << 30;  // of a folder
};

class KvCache {
 public:
  // Errors: io.
  static StatusOr<KvCache> open(CacheOptions options);

  // The file that gives most positions of `tokens`, and how many; "" and 0 if none gives any. In a folder,
  // files that hold more than max_position or cannot be read are passed over. Errors: of the single file.
  struct Found {
    std::string path;
    size_t position_count = 0;
  };
  StatusOr<Found> find(const KvIdentity& identity, std::span<const int32_t> tokens, int max_position) const;
  // Where the state of these tokens belongs.
  std::string path_for(const KvIdentity& identity, std::span<const int32_t> tokens) const;
  // After a use of `path`: marks it as just used, and deletes the folder's files that were unused for longest
  // until they take limit_bytes at most, and what writers that were killed have left.
  void used(const std::string& path) const;
  // After a failed use of `path`: deletes it from a folder; then another find may help.
  bool discard(const std::string& path) const;

 private:
  explicit KvCache(CacheOptions options) : options_(std::move(options)) {}
  void trim() const;
  CacheOptions options_;
};
}  // namespace g4
