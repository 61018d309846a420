#include "cli/media_files.h"

#include <turbojpeg.h>

#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "cli/exif.h"

namespace g4::cli {
namespace {
using Bytes = std::vector<uint8_t>;
constexpr uint32_t kBlock = 16;  // pixels of one colour: what JPEG keeps exactly, or nearly

// 3 x 2 blocks of different colours.
constexpr uint8_t kColours[2][3][3] = {{{250, 10, 10}, {10, 250, 10}, {10, 10, 250}},
                                       {{240, 240, 20}, {20, 240, 240}, {30, 30, 30}}};

Bytes encode(const Bytes& pixels, uint32_t width, uint32_t height, int format) {
  const tjhandle jpeg = tjInitCompress();
  unsigned char* out = nullptr;
  unsigned long size = 0;
  REQUIRE(tjCompress2(jpeg, pixels.data(), static_cast<int>(width), 0, static_cast<int>(height), format, &out,
                      &size, TJSAMP_444, 100, 0) == 0);
  const Bytes file(out, out + size);
  tjFree(out);
  tjDestroy(jpeg);
  return file;
}

// What a camera held in this way stores of the blocks: its row 0 and column 0 are the sides of the picture
// that the Exif standard names.
Bytes stored_picture(int orientation, uint32_t* width, uint32_t* height) {
  constexpr uint32_t kWidth = 3 * kBlock, kHeight = 2 * kBlock;
  const bool is_turned = orientation >= 5;
  *width = is_turned ? kHeight : kWidth;
  *height = is_turned ? kWidth : kHeight;
  Bytes pixels;
  for (uint32_t row = 0; row < *height; ++row)
    for (uint32_t column = 0; column < *width; ++column) {
      const uint32_t from_top[] = {0,
                                   row,
                                   row,
                                   kHeight - 1 - row,
                                   kHeight - 1 - row,
                                   column,
                                   column,
                                   kHeight - 1 - column,
                                   kHeight - 1 - column};
      const uint32_t from_left[] = {0,      column, kWidth - 1 - column, kWidth - 1 - column,
                                    column, row,    kWidth - 1 - row,    kWidth - 1 - row,
                                    row};
      const uint8_t(&colour)[3] = kColours[from_top[orientation] / kBlock][from_left[orientation] / kBlock];
      pixels.insert(pixels.end(), colour, colour + 3);
    }
  return pixels;
}

void append(Bytes& bytes, uint32_t value, int count, bool big_endian) {
  for (int i = 0; i < count; ++i)
    bytes.push_back(static_cast<uint8_t>(value >> 8 * (big_endian ? count - 1 - i : i)));
}

// A directory with another entry before the one that is wanted.
Bytes exif(uint32_t orientation, bool big_endian, uint32_t type = 3, uint32_t count = 1) {
  Bytes bytes = {'E', 'x', 'i', 'f', 0, 0};
  append(bytes, big_endian ? 0x4d4d : 0x4949, 2, big_endian);
  const auto add = [&](uint32_t value, int size) { append(bytes, value, size, big_endian); };
  add(42, 2);
  add(8, 4);
  add(2, 2);
  for (const uint32_t tag : {0x0100u, 0x0112u}) {
    add(tag, 2);
    add(type, 2);
    add(count, 4);
    add(tag == 0x0112 ? orientation : 6, 2);
    add(0, 2);
  }
  add(0, 4);
  return bytes;
}

Bytes with_segment(const Bytes& jpeg, const Bytes& content, uint8_t marker = 0xe1) {
  Bytes file = {0xff, 0xd8, 0xff, marker};
  append(file, static_cast<uint32_t>(content.size() + 2), 2, true);
  file.insert(file.end(), content.begin(), content.end());
  file.insert(file.end(), jpeg.begin() + 2, jpeg.end());
  return file;
}

void check_colours(const Picture& picture) {
  REQUIRE(picture.width == 3 * kBlock);
  REQUIRE(picture.height == 2 * kBlock);
  REQUIRE(picture.channel_count == 3);
  for (size_t y = 0; y < picture.height; ++y)
    for (size_t x = 0; x < picture.width; ++x)
      for (size_t c = 0; c < 3; ++c)
        REQUIRE(std::abs(picture.pixels[(y * picture.width + x) * 3 + c] -
                         kColours[y / kBlock][x / kBlock][c]) <= 4);
}

Bytes upright_jpeg() {
  uint32_t width = 0, height = 0;
  const Bytes pixels = stored_picture(1, &width, &height);
  return encode(pixels, width, height, TJPF_RGB);
}
}  // namespace

TEST_CASE("JPEG files are turned as their orientation says, in either byte order", "[cli]") {
  for (int orientation = 1; orientation <= 8; ++orientation)
    for (const bool big_endian : {false, true}) {
      uint32_t width = 0, height = 0;
      const Bytes pixels = stored_picture(orientation, &width, &height);
      Bytes file = with_segment(encode(pixels, width, height, TJPF_RGB),
                                exif(static_cast<uint32_t>(orientation), big_endian));
      CAPTURE(orientation, big_endian);
      CHECK(exif_orientation(file) == orientation);
      check_colours(decode_picture(file, "picture"));
      // Other segments before it, another APP1 among them.
      const std::string xmp = "http://ns.adobe.com/xap/1.0/";
      file = with_segment(with_segment(file, Bytes(xmp.begin(), xmp.end())), Bytes(50), 0xfe);
      CHECK(exif_orientation(file) == orientation);
    }
}

TEST_CASE("An orientation that cannot be understood is ignored", "[cli]") {
  const Bytes jpeg = upright_jpeg();
  CHECK(exif_orientation(jpeg) == 1);
  for (const uint32_t value : {0u, 9u, 77u, 0xffffu}) {
    const Bytes file = with_segment(jpeg, exif(value, false));
    CHECK(exif_orientation(file) == 1);
    check_colours(decode_picture(file, "picture"));
  }
  CHECK(exif_orientation(with_segment(jpeg, exif(6, false, 4))) == 1);     // LONG
  CHECK(exif_orientation(with_segment(jpeg, exif(6, false, 3, 2))) == 1);  // two of them
  CHECK(exif_orientation(with_segment(jpeg, exif(6, false), 0xe2)) == 1);  // not APP1
}

TEST_CASE("Damaged Exif data never keeps a picture from being read", "[cli]") {
  const Bytes jpeg = upright_jpeg(), whole = exif(1, true);
  for (size_t length = 0; length < whole.size(); ++length)
    check_colours(decode_picture(
        with_segment(jpeg, Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length))),
        "cut"));
  for (size_t i = 0; i < whole.size(); ++i)
    for (const uint8_t value : {uint8_t{0}, uint8_t{0x7f}, uint8_t{0xff}}) {
      Bytes damaged = whole;
      damaged[i] = value;
      const Bytes file = with_segment(jpeg, damaged);
      CHECK(exif_orientation(file) == 1);
      check_colours(decode_picture(file, "damaged"));
    }
}

TEST_CASE("Files that end before, in or behind their segments have no orientation", "[cli]") {
  const Bytes file = with_segment(upright_jpeg(), exif(6, true));
  const size_t end = 4 + 2 + exif(6, true).size();  // of the segment
  for (size_t length = 0; length < end; ++length)
    CHECK(exif_orientation(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length))) == 1);
  CHECK(exif_orientation(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(end))) == 6);
}

TEST_CASE("CMYK JPEG files become RGB", "[cli]") {
  // Inverted as Adobe writes it: 255 is no ink.
  Bytes pixels;
  const uint8_t cmyk[4][4] = {{255, 255, 255, 255}, {255, 0, 0, 255}, {255, 255, 0, 128}, {200, 100, 50, 0}};
  const uint8_t rgb[4][3] = {{255, 255, 255}, {255, 0, 0}, {128, 128, 0}, {0, 0, 0}};
  for (uint32_t y = 0; y < kBlock; ++y)
    for (uint32_t x = 0; x < 4 * kBlock; ++x)
      pixels.insert(pixels.end(), cmyk[x / kBlock], cmyk[x / kBlock] + 4);
  const Picture picture = decode_picture(encode(pixels, 4 * kBlock, kBlock, TJPF_CMYK), "cmyk");
  REQUIRE(picture.channel_count == 3);
  REQUIRE(picture.pixels.size() == size_t{3} * 4 * kBlock * kBlock);
  for (size_t i = 0; i < picture.pixels.size() / 3; ++i)
    for (size_t c = 0; c < 3; ++c)
      REQUIRE(std::abs(picture.pixels[3 * i + c] - rgb[i % (4 * kBlock) / kBlock][c]) <= 4);
}
}  // namespace g4::cli
