// A row of media among tokens: an id below those of any vocabulary, made of the row's content, so that
// comparing token lists compares pictures and sounds too. The first row of a run is marked.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace g4 {
inline constexpr int32_t kMediaTokenBegin = INT32_MIN, kMediaTokenEnd = INT32_MIN / 2;  // a half-open range
inline constexpr int32_t kMediaStartBit = 1 << 29;

// hash: any number of the row's content.
constexpr int32_t media_token(uint64_t hash, bool starts_run) {
  const int32_t low = static_cast<int32_t>(hash & (kMediaStartBit - 1));
  return kMediaTokenBegin + low + (starts_run ? kMediaStartBit : 0);
}
constexpr bool is_media(int32_t token) { return token < kMediaTokenEnd; }
constexpr bool starts_media(int32_t token) { return is_media(token) && (token & kMediaStartBit) != 0; }

// The largest number up to n of tokens that ends inside no run of media.
constexpr size_t without_cut_run(std::span<const int32_t> tokens, size_t n) {
  while (n > 0 && n < tokens.size() && is_media(tokens[n]) && !starts_media(tokens[n])) --n;
  return n;
}
}  // namespace g4
