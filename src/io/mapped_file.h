// Read-only view of a file: a mapping, and reads beside it for media where touching a mapping may fault
// (removable or network).
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

namespace g4 {
class MappedFile {
 public:
  enum class Access { kSequential, kRandom };
  // The size is fixed here: what is appended later is not seen.
  // Errors: io (missing, not a regular file, unreadable: the message has path and reason), format (empty
  // file), memory.
  static StatusOr<std::shared_ptr<MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const uint8_t> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  // Advice on a part of the mapping; never fails, at worst does nothing.
  void advise(uint64_t offset, uint64_t length, Access access) const;
  void will_need(uint64_t offset, uint64_t length) const;
  void drop(uint64_t offset, uint64_t length) const;  // pages may leave memory; reading them again reloads
  // Reads by pread, never through the mapping: an io error where a mapping would fault (SIGBUS).
  Status read_at(uint64_t offset, std::span<uint8_t> out) const;

 private:
  MappedFile() = default;
  std::string path_;
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  int fd_ = -1;
};
}  // namespace g4
