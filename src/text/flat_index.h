// A hash index over things kept elsewhere: open addressing, 32-bit handles, sized once. The caller brings
// hashes and equality.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace g4 {
inline uint64_t mix_bits(uint64_t x) {
  x = (x ^ x >> 32) * 0xD6E8FEB86659FD93;
  x = (x ^ x >> 32) *
      0xD6E8FEB86659FD93;  // a second time: the low bits of a product know nothing of the high ones
  return x ^ x >> 32;
}

template <typename T>
uint64_t load_bytes(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

inline uint64_t hash_bytes(std::string_view bytes) {
  uint64_t hash = bytes.size();
  for (; bytes.size() > 8; bytes.remove_prefix(8)) hash = mix_bits(hash ^ load_bytes<uint64_t>(bytes.data()));
  const size_t left = bytes.size();
  const char* at = bytes.data();
  if (left >= 4)  // the two halves may overlap
    hash ^= load_bytes<uint32_t>(at) << 32 | load_bytes<uint32_t>(at + left - 4);
  else if (left > 0)
    hash ^= load_bytes<uint8_t>(at) << 8 | load_bytes<uint8_t>(at + left / 2) << 16 |
            load_bytes<uint8_t>(at + left - 1) << 24;
  return mix_bits(hash);
}

class FlatIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  FlatIndex() : FlatIndex(0) {}
  explicit FlatIndex(size_t count) : slots_(std::bit_ceil(count + count / 2 + 1)) {}

  // The handle stored under `hash` for which equal(handle) is true; kNone if there is none.
  template <typename Equal>
  uint32_t find(uint64_t hash, Equal&& equal) const {
    for (size_t i = hash & mask();; i = (i + 1) & mask()) {
      const Slot& slot = slots_[i];
      if (slot.handle == kNone) return kNone;
      if (slot.tag == tag(hash) && equal(slot.handle)) return slot.handle;
    }
  }

  // Brings the place of `hash` into the cache: worth it where many searches are known ahead.
  void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask()]); }

  // Adds a handle, at most `count` of them in all. False if too many crowd around its place: no ordinary data
  // comes near the limit, a file made to slow down every lookup does.
  [[nodiscard]] bool insert(uint64_t hash, uint32_t handle) {
    constexpr size_t kLongestProbe = 1024;
    size_t i = hash & mask();
    for (size_t probe = 0; probe < kLongestProbe; ++probe, i = (i + 1) & mask()) {
      if (slots_[i].handle != kNone) continue;
      slots_[i] = {tag(hash), handle};
      return true;
    }
    return false;
  }

 private:
  struct Slot {
    uint32_t tag = 0, handle = kNone;
  };
  static uint32_t tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  size_t mask() const { return slots_.size() - 1; }
  std::vector<Slot> slots_;
};
}  // namespace g4
