// MappedFile on POSIX systems.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "io/mapped_file.h"

namespace g4 {
namespace {
std::string reason(int error) { return std::error_code(error, std::generic_category()).message(); }

// madvise wants whole pages: [offset, offset + length), cut to the file and widened to the page it starts in.
void advise_pages(std::span<const uint8_t> file, uint64_t offset, uint64_t length, int advice) {
  if (offset >= file.size()) return;
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = offset / page * page;
  const uint64_t end = offset + std::min<uint64_t>(length, file.size() - offset);
  madvise(const_cast<uint8_t*>(file.data()) + begin, end - begin, advice);
}
}  // namespace

StatusOr<std::shared_ptr<MappedFile>> MappedFile::open(const std::string& path) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->path_ = path;
  // Non-blocking: a FIFO must be refused, not waited for.
  file->fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file->fd_ < 0) return io_error(StrCat("cannot open ", path, ": ", reason(errno)));
  struct stat info;
  if (fstat(file->fd_, &info) != 0) return io_error(StrCat("cannot read ", path, ": ", reason(errno)));
  if (S_ISDIR(info.st_mode)) return io_error(StrCat("cannot read ", path, ": it is a folder"));
  if (!S_ISREG(info.st_mode)) return io_error(StrCat("cannot read ", path, ": it is not a regular file"));
  if (info.st_size == 0) return format_error(StrCat(path, " is empty"));
  const uint64_t size = static_cast<uint64_t>(info.st_size);
  if (size > std::numeric_limits<size_t>::max())
    return memory_error(StrCat(path, " has ", size, " bytes, more than this process can map"));
  void* data = mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_SHARED, file->fd_, 0);
  if (data == MAP_FAILED) {
    const int error = errno;
    const std::string message = StrCat("cannot map the ", size, " bytes of ", path, ": ", reason(error));
    return error == ENOMEM ? memory_error(message) : io_error(message);
  }
  file->data_ = static_cast<const uint8_t*>(data);
  file->size_ = static_cast<size_t>(size);
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<uint8_t*>(data_), size_);
  if (fd_ >= 0) close(fd_);
}

void MappedFile::advise(uint64_t offset, uint64_t length, Access access) const {
  advise_pages(bytes(), offset, length, access == Access::kRandom ? MADV_RANDOM : MADV_SEQUENTIAL);
}

void MappedFile::will_need(uint64_t offset, uint64_t length) const {
  advise_pages(bytes(), offset, length, MADV_WILLNEED);
}

void MappedFile::drop(uint64_t offset, uint64_t length) const {
  advise_pages(bytes(), offset, length, MADV_DONTNEED);
}

Status MappedFile::read_at(uint64_t offset, std::span<uint8_t> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = pread(fd_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got > 0) {
      done += static_cast<size_t>(got);
    } else if (got == 0) {
      return io_error(StrCat(path_, " ends at byte ", offset + done, " where ", out.size() - done,
                             " more were expected"));
    } else if (errno != EINTR) {
      return io_error(StrCat("cannot read ", path_, " at byte ", offset + done, ": ", reason(errno)));
    }
  }
  return absl::OkStatus();
}
}  // namespace g4
