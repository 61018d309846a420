// The only code that turns the bytes of a file into numbers: a cursor that never leaves its span.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace g4 {
static_assert(std::endian::native == std::endian::little,
              "files are little-endian, and so must the machine be");

// The number stored at `source`, which need not be aligned.
template <typename T>
T load_number(const uint8_t* source) {
  static_assert(std::is_arithmetic_v<T>);
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}

class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }

  // The next number, or false (and no move) where the bytes end before it does.
  template <typename T>
  [[nodiscard]] bool read(T* out) {
    if (remaining() < sizeof(T)) return false;
    *out = load_number<T>(bytes_.data() + position_);
    position_ += sizeof(T);
    return true;
  }
  // The next `count` bytes, or false (and no move) where there are fewer.
  [[nodiscard]] bool take(uint64_t count, std::span<const uint8_t>* out) {
    if (remaining() < count) return false;
    *out = bytes_.subspan(position_, static_cast<size_t>(count));
    position_ += static_cast<size_t>(count);
    return true;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t position_ = 0;
};
}  // namespace g4
