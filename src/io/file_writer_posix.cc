// FileWriter on POSIX systems.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "io/file_writer.h"

namespace g4 {
namespace {
constexpr uint64_t kSyncBytes = uint64_t{64} << 20;

Status cannot_write(const std::string& path) {
  return io_error(StrCat("cannot write ", path, ": ", std::strerror(errno)));
}

// So that the rename itself survives a power cut. A file system that cannot sync a folder is no reason to
// fail.
void sync_folder(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}
}  // namespace

FileWriter::FileWriter(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)) {}

FileWriter::~FileWriter() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

StatusOr<FileWriter> FileWriter::create(const std::string& path, int mode) {
  std::string temporary = path + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return io_error(StrCat("cannot write beside ", path, ": ", std::strerror(errno)));
  FileWriter writer(path, std::move(temporary), fd);
  if (::fchmod(fd, static_cast<mode_t>(mode)) != 0) return cannot_write(path);
  return writer;
}

Status FileWriter::write(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return cannot_write(path_);
    bytes = bytes.subspan(static_cast<size_t>(done));
    unsynced_ += static_cast<uint64_t>(done);
  }
  // A slow disk is waited for as it goes, not all at the end.
  if (unsynced_ < kSyncBytes) return absl::OkStatus();
  unsynced_ = 0;
  return ::fdatasync(fd_) == 0 ? absl::OkStatus() : cannot_write(path_);
}

Status FileWriter::commit() {
  if (::fsync(fd_) != 0 || ::close(std::exchange(fd_, -1)) != 0 ||
      ::rename(temporary_.c_str(), path_.c_str()) != 0)
    return cannot_write(path_);
  temporary_.clear();
  sync_folder(path_);
  return absl::OkStatus();
}
}  // namespace g4
