// Checked arithmetic for every size that comes from a file or a caller: each returns false on overflow.
#pragma once
#include <cstddef>
#include <cstdint>

namespace g4 {
[[nodiscard]] inline bool checked_add(uint64_t a, uint64_t b, uint64_t* out) {
  return !__builtin_add_overflow(a, b, out);
}
[[nodiscard]] inline bool checked_mul(uint64_t a, uint64_t b, uint64_t* out) {
  return !__builtin_mul_overflow(a, b, out);
}
// Rounds up to a multiple of `alignment`, a power of two.
[[nodiscard]] inline bool checked_align(uint64_t a, uint64_t alignment, uint64_t* out) {
  if (!checked_add(a, alignment - 1, out)) return false;
  *out &= ~(alignment - 1);
  return true;
}
}  // namespace g4
