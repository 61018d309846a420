// Structs that cross the C boundary carry their size: callers compiled against an older or newer header are
// served alike.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/status.h"
#include "g4/g4.h"

namespace g4 {
// A copy of the caller's options, zero where the caller's struct ends; all zero for NULL.
// Errors: argument (no size, or a newer field that this library does not know is set).
template <typename T>
StatusOr<T> read_struct(const T* from, const char* name) {
  T to = {};
  if (from == nullptr) return to;
  constexpr uint32_t kLargest = 4096;
  const uint32_t size = from->struct_size;
  if (size < sizeof(uint32_t) || size > kLargest)
    return argument_error(
        StrCat(name, ".struct_size is ", size, "; set it to sizeof(", name, "), or use G4_INIT"));
  const auto* bytes = reinterpret_cast<const unsigned char*>(from);
  if (size > sizeof(T) &&
      std::any_of(bytes + sizeof(T), bytes + size, [](unsigned char b) { return b != 0; }))
    return argument_error(StrCat(
        name, " has a field set that this version of g4 does not know; update the library or leave it zero"));
  std::memcpy(&to, from, std::min<size_t>(size, sizeof(T)));
  return to;
}

// Fills the caller's struct as far as it reaches; struct_size stays.
template <typename T>
Status write_struct(T* to, T from, const char* name) {
  if (to == nullptr) return argument_error(StrCat(name, " is NULL"));
  if (to->struct_size < sizeof(uint32_t))
    return argument_error(
        StrCat(name, ".struct_size is ", to->struct_size, "; set it to sizeof(", name, "), or use G4_INIT"));
  from.struct_size = to->struct_size;
  std::memcpy(static_cast<void*>(to), &from, std::min<size_t>(to->struct_size, sizeof(T)));
  return absl::OkStatus();
}

// Variable-length results: see the rules at the top of g4.h.
template <typename T>
Status write_buffer(std::span<const T> from, T* to, size_t capacity, size_t* needed) {
  if (needed == nullptr) return argument_error("needed is NULL");
  *needed = from.size();
  if (capacity == 0) return absl::OkStatus();
  if (to == nullptr) return argument_error("the buffer is NULL but its capacity is not 0");
  if (from.size() > capacity)
    return absl::AbortedError(StrCat("the buffer holds ", capacity, ", but ", from.size(), " are needed"));
  if (!from.empty()) std::memcpy(to, from.data(), from.size_bytes());
  if constexpr (sizeof(T) == 1)
    if (from.size() < capacity) to[from.size()] = 0;
  return absl::OkStatus();
}
}  // namespace g4
