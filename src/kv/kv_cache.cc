#include "kv/kv_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#define XXH_INLINE_ALL  // a header only: nothing to link
#include <xxhash.h>

namespace g4 {
namespace {
namespace fs = std::filesystem;
constexpr char kStem[] = "g4-", kExtension[] = ".g4kv";
// A temporary file is alive for as long as it takes to write it.
constexpr std::chrono::hours kTemporaryLife{1};

std::string hex(uint64_t value) { return StrCat(absl::Hex(value, absl::kZeroPad16)); }

// Files of one model and KV type share the beginning of their names.
std::string stem_of(const KvIdentity& identity) {
  uint8_t bytes[std::tuple_size_v<Fingerprint> + 1];
  std::memcpy(bytes, identity.model.data(), identity.model.size());
  bytes[identity.model.size()] = static_cast<uint8_t>(identity.type);
  return StrCat(kStem, hex(XXH3_64bits(bytes, sizeof bytes)), "-");
}

// Calls function(entry, name) for the folder's files of that stem; what cannot be read ends it early.
template <class Function>
void for_each_file(const std::string& folder, std::string_view stem, Function function) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (const std::string name = entry->path().filename().string(); name.starts_with(stem))
      function(*entry, name);
}
}  // namespace

StatusOr<KvCache> KvCache::open(CacheOptions options) {
  if (options.is_file) return KvCache(std::move(options));
  struct stat info;
  if (::mkdir(options.path.c_str(), 0700) != 0 && errno != EEXIST)
    return io_error(StrCat("cannot make the folder ", options.path, ": ", std::strerror(errno)));
  if (::stat(options.path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return io_error(StrCat("cannot keep a cache in ", options.path, ": not a folder"));
  return KvCache(std::move(options));
}

StatusOr<KvCache::Found> KvCache::find(const KvIdentity& identity, std::span<const int32_t> tokens,
                                       int max_position) const {
  Found best;
  if (options_.is_file) {
    if (::access(options_.path.c_str(), F_OK) != 0) return best;
    G4_ASSIGN_OR_RETURN(const KvFileInfo info, probe_kv(options_.path));
    return Found{options_.path, info.restorable(tokens)};
  }
  for_each_file(options_.path, stem_of(identity),
                [&](const fs::directory_entry& entry, const std::string& name) {
                  if (!name.ends_with(kExtension)) return;
                  const StatusOr<KvFileInfo> info = probe_kv(entry.path().string());
                  if (!info.ok() || info->tokens.size() > static_cast<size_t>(max_position)) return;
                  if (const size_t count = info->restorable(tokens); count > best.position_count)
                    best = {entry.path().string(), count};
                });
  return best;
}

std::string KvCache::path_for(const KvIdentity& identity, std::span<const int32_t> tokens) const {
  if (options_.is_file) return options_.path;
  return StrCat(options_.path, "/", stem_of(identity), hex(XXH3_64bits(tokens.data(), tokens.size_bytes())),
                kExtension);
}

void KvCache::used(const std::string& path) const {
  if (options_.is_file) return;
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  trim();
}

bool KvCache::discard(const std::string& path) const {
  if (!options_.is_file) ::unlink(path.c_str());
  return !options_.is_file;
}

void KvCache::trim() const {
  struct File {
    fs::file_time_type used;
    uint64_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  uint64_t total = 0;
  const auto now = fs::file_time_type::clock::now();
  for_each_file(options_.path, kStem, [&](const fs::directory_entry& entry, const std::string& name) {
    std::error_code error;  // deleted by another process: no longer of interest
    const auto used = entry.last_write_time(error);
    const uint64_t bytes = error ? 0 : entry.file_size(error);
    if (error) return;
    if (name.ends_with(kExtension)) {
      files.push_back({used, bytes, entry.path()});
      total += bytes;
    } else if (name.find(kExtension) != std::string::npos && now - used > kTemporaryLife) {
      fs::remove(entry.path(), error);
    }
  });
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (total <= options_.limit_bytes) break;
    std::error_code error;
    fs::remove(file.path, error);
    total -= file.bytes;
  }
}
}  // namespace g4
