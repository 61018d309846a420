#include "cli/exif.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace g4::cli {
namespace {
// Numbers of 2 and 4 bytes in either order; 0 beyond the end.
struct Numbers {
  std::span<const uint8_t> bytes;
  bool big_endian = true;

  uint32_t read(size_t at, size_t count) const {
    if (at > bytes.size() || count > bytes.size() - at) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i) value = value << 8 | bytes[at + (big_endian ? i : count - 1 - i)];
    return value;
  }
  uint32_t u16(size_t at) const { return read(at, 2); }
  uint32_t u32(size_t at) const { return read(at, 4); }
};

// The TIFF structure of the Exif segment; empty if there is none before the pixels.
std::span<const uint8_t> exif_segment(std::span<const uint8_t> jpeg) {
  constexpr uint8_t kExif[] = {'E', 'x', 'i', 'f', 0, 0};
  constexpr uint32_t kApp1 = 0xffe1, kStartOfScan = 0xffda, kFirstMarker = 0xffc0;
  const Numbers numbers{jpeg};
  for (size_t at = 2;;) {
    const uint32_t marker = numbers.u16(at), length = numbers.u16(at + 2);  // the length counts itself
    if (marker < kFirstMarker || marker == kStartOfScan || length < 2 || jpeg.size() - at - 2 < length)
      return {};
    const std::span<const uint8_t> segment = jpeg.subspan(at + 4, length - 2);
    if (marker == kApp1 && segment.size() >= sizeof kExif &&
        std::equal(kExif, kExif + sizeof kExif, segment.begin()))
      return segment.subspan(sizeof kExif);
    at += 2 + length;
  }
}
}  // namespace

int exif_orientation(std::span<const uint8_t> jpeg) {
  constexpr uint32_t kLittleEndian = 0x4949, kBigEndian = 0x4d4d, kOrientation = 0x0112, kShort = 3;
  constexpr size_t kEntryBytes = 12;
  Numbers tiff{exif_segment(jpeg)};
  const uint32_t order = tiff.u16(0);
  tiff.big_endian = order == kBigEndian;
  if ((order != kBigEndian && order != kLittleEndian) || tiff.u16(2) != 42) return 1;
  const size_t directory = tiff.u32(4), count = tiff.u16(directory);
  for (size_t i = 0; i < count; ++i) {
    const size_t entry = directory + 2 + i * kEntryBytes;
    if (tiff.u16(entry) != kOrientation) continue;
    const uint32_t value = tiff.u16(entry + 8);
    const bool is_known =
        tiff.u16(entry + 2) == kShort && tiff.u32(entry + 4) == 1 && 1 <= value && value <= 8;
    return is_known ? static_cast<int>(value) : 1;
  }
  return 1;
}

Picture upright(Picture stored, int orientation) {
  if (orientation == 1) return stored;
  const bool is_turned = orientation >= 5;  // stored rows are columns
  const bool is_mirrored = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool is_upside_down = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Picture picture = {{}, stored.width, stored.height, stored.channel_count};
  if (is_turned) std::swap(picture.width, picture.height);
  picture.pixels.resize(stored.pixels.size());
  const size_t channels = stored.channel_count;
  uint8_t* out = picture.pixels.data();
  for (size_t y = 0; y < picture.height; ++y)
    for (size_t x = 0; x < picture.width; ++x, out += channels) {
      size_t column = is_turned ? y : x, row = is_turned ? x : y;
      if (is_mirrored) column = stored.width - 1 - column;
      if (is_upside_down) row = stored.height - 1 - row;
      std::copy_n(stored.pixels.data() + (row * stored.width + column) * channels, channels, out);
    }
  return picture;
}
}  // namespace g4::cli
