#include "io/byte_reader.h"

#include <catch2/catch.hpp>
#include <vector>

using g4::ByteReader;

TEST_CASE("byte reader: reads little-endian numbers at any alignment", "[io]") {
  const std::vector<uint8_t> bytes = {0xff, 0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x80, 0x3f, 0xfe};
  ByteReader reader(bytes);
  uint8_t first = 0;
  uint32_t number = 0;
  float real = 0;
  int8_t last = 0;
  REQUIRE(reader.read(&first));
  REQUIRE(reader.read(&number));
  REQUIRE(reader.read(&real));
  REQUIRE(reader.read(&last));
  CHECK(first == 0xff);
  CHECK(number == 0x04030201);
  CHECK(real == 1.0f);
  CHECK(last == -2);
  CHECK(reader.remaining() == 0);
}

TEST_CASE("byte reader: never leaves its bytes, and a refused read does not move it", "[io]") {
  const std::vector<uint8_t> bytes = {1, 2, 3};
  ByteReader reader(bytes);
  uint32_t number = 77;
  std::span<const uint8_t> part;
  CHECK_FALSE(reader.read(&number));
  CHECK_FALSE(reader.take(4, &part));
  CHECK_FALSE(reader.take(UINT64_MAX, &part));
  CHECK(number == 77);
  CHECK(reader.position() == 0);
  REQUIRE(reader.take(3, &part));
  CHECK(part.data() == bytes.data());
  CHECK(reader.take(0, &part));
  uint8_t none = 0;
  CHECK_FALSE(reader.read(&none));
}
