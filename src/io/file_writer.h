// A new file that appears whole or not at all.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace g4 {
// Writes a temporary file beside `path` that takes its name at the end: whatever goes wrong, an old file of
// this name stays whole. What is not committed is removed.
class FileWriter {
 public:
  // mode: who may read it, as chmod says it. Errors, here and below: io (the message has path and reason).
  static StatusOr<FileWriter> create(const std::string& path, int mode);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  Status write(std::span<const uint8_t> bytes);
  // Syncs the file and renames it.
  Status commit();

 private:
  FileWriter(std::string path, std::string temporary, int fd);
  std::string path_, temporary_;
  int fd_;
  uint64_t unsynced_ = 0;  // bytes
};
}  // namespace g4
