// One aligned allocation that reports failure instead of throwing. 64 bytes: a cache line, and the widest
// vector.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

#include "base/checked.h"
#include "base/status.h"

namespace g4 {
inline constexpr size_t kBufferAlignment = 64;

template <typename T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Uninitialised elements; `alignment` is a power of two of at least 64. Errors: memory (too large, or the
  // system refuses).
  static StatusOr<AlignedBuffer> create(size_t count, size_t alignment = kBufferAlignment) {
    uint64_t bytes = 0;
    AlignedBuffer buffer;
    if (count == 0) return buffer;
    if (!checked_mul(count, sizeof(T), &bytes) || !checked_align(bytes, alignment, &bytes))
      return memory_error(StrCat("a buffer of ", count, " elements does not fit the address space"));
    buffer.data_.reset(static_cast<T*>(std::aligned_alloc(alignment, bytes)));
    if (buffer.data_ == nullptr) return memory_error(StrCat("cannot allocate ", bytes, " bytes"));
    buffer.count_ = count;
    return buffer;
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return count_; }
  size_t size_bytes() const { return count_ * sizeof(T); }
  std::span<T> span() { return {data_.get(), count_}; }
  std::span<const T> span() const { return {data_.get(), count_}; }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T, Free> data_;
  size_t count_ = 0;
};
}  // namespace g4
