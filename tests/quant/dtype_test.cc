#include "quant/dtype.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/safetensors.h"
#include "tests/support/test_data.h"

namespace g4 {
namespace {
TEST_CASE("every type is found by its number in GGUF", "[quant]") {
  const struct {
    DType type;
    const char* name;
    uint32_t id, values, bytes;
  } expected[] = {
      {DType::kF32, "F32", 0, 1, 4},        {DType::kF16, "F16", 1, 1, 2},
      {DType::kBF16, "BF16", 30, 1, 2},     {DType::kQ8_0, "Q8_0", 8, 32, 34},
      {DType::kQ4_0, "Q4_0", 2, 32, 18},    {DType::kQ4_1, "Q4_1", 3, 32, 20},
      {DType::kQ5_0, "Q5_0", 6, 32, 22},    {DType::kQ4_K, "Q4_K", 12, 256, 144},
      {DType::kQ5_K, "Q5_K", 13, 256, 176}, {DType::kQ6_K, "Q6_K", 14, 256, 210},
  };
  CHECK(std::size(expected) == kDTypeCount);
  for (const auto& e : expected) {
    CAPTURE(e.name);
    const DTypeInfo& info = dtype_info(e.type);
    CHECK(std::string(info.name) == e.name);
    CHECK(info.gguf_id == e.id);
    CHECK(info.block_values == e.values);
    CHECK(info.block_bytes == e.bytes);
    const DType* found = dtype_from_gguf(e.id);
    REQUIRE(found != nullptr);
    CHECK(*found == e.type);
    CHECK(row_bytes(e.type, 512) == 512 / e.values * e.bytes);
  }
  for (const uint32_t unknown : {4u, 5u, 7u, 9u, 10u, 11u, 15u, 16u, 31u, 255u, 0xffffffffu})
    CHECK(dtype_from_gguf(unknown) == nullptr);
}

TEST_CASE("rows decode bit for bit as gguf.quants does, from any address", "[quant]") {
  const Safetensors goldens(golden_path("tiny/quant-tiny/goldens.safetensors"));
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType type = static_cast<DType>(i);
    if (type == DType::kF32) continue;  // the goldens have no F32: see below
    const std::string name = dtype_info(type).name;
    const auto raw = goldens["rows." + name + ".raw"].values<uint8_t>();
    const auto values = goldens["rows." + name + ".values"].values<float>();
    REQUIRE(row_bytes(type, values.size()) == raw.size());
    for (size_t misalignment = 0; misalignment < 4; ++misalignment) {
      CAPTURE(name, misalignment);
      std::vector<uint8_t> source(misalignment + raw.size());
      std::memcpy(source.data() + misalignment, raw.data(), raw.size());
      std::vector<float> decoded(values.size());
      dtype_info(type).decode(source.data() + misalignment, decoded.data(), decoded.size());
      CHECK(std::memcmp(decoded.data(), values.data(), values.size_bytes()) == 0);
    }
  }
}

// Every field of the blocks at its extremes, which the goldens do not reach: expected values by hand.
TEST_CASE("blocks decode at their extremes", "[quant]") {
  const auto decode = [](DType type, std::vector<uint8_t> block) {
    REQUIRE(block.size() == dtype_info(type).block_bytes);
    std::vector<float> values(dtype_info(type).block_values);
    dtype_info(type).decode(block.data(), values.data(), values.size());
    return values;
  };
  const auto block = [](std::vector<uint8_t> head, size_t size, uint8_t fill) {
    head.resize(size, fill);
    return head;
  };
  using Values = std::vector<float>;
  CHECK(decode(DType::kF32, {0x01, 0x00, 0x80, 0xbf}) == Values{-0x1.000002p0f});
  CHECK(decode(DType::kBF16, {0x81, 0xbf}) == Values{-0x1.02p0f});
  // The scale is 1, or the least subnormal half, 2^-24.
  CHECK(decode(DType::kQ8_0, block({0x00, 0x3c}, 34, 0x80)) == Values(32, -128.0f));
  CHECK(decode(DType::kQ8_0, block({0x01, 0x00}, 34, 0x7f)) == Values(32, 127 * 0x1p-24f));
  CHECK(decode(DType::kQ4_0, block({0x00, 0x3c}, 18, 0x00)) == Values(32, -8.0f));
  CHECK(decode(DType::kQ4_0, block({0x00, 0xbc}, 18, 0xff)) == Values(32, -7.0f));
  CHECK(decode(DType::kQ4_1, block({0x00, 0x3c, 0x00, 0xc0}, 20, 0xff)) == Values(32, 13.0f));
  CHECK(decode(DType::kQ5_0, block({0x00, 0x3c}, 22, 0xff)) == Values(32, 15.0f));
  CHECK(decode(DType::kQ5_0, block({0x00, 0x3c}, 22, 0x00)) == Values(32, -16.0f));
  CHECK(decode(DType::kQ4_K, block({0x00, 0x3c, 0x00, 0x3c}, 144, 0xff)) == Values(256, 63 * 15 - 63.0f));
  CHECK(decode(DType::kQ5_K, block({0x00, 0x3c, 0x00, 0x40}, 176, 0xff)) == Values(256, 63 * 31 - 126.0f));
  std::vector<uint8_t> q6_k = block({}, 208, 0x80);  // q = 32 or 40, scales = -128
  q6_k.insert(q6_k.end(), {0x00, 0x3c});
  const Values values = decode(DType::kQ6_K, q6_k);
  CHECK(values[0] == -128.0f * (0 - 32));    // low nibbles 0, high bits 0
  CHECK(values[64] == -128.0f * (8 - 32));   // high nibbles 8, high bits 0
  CHECK(values[96] == -128.0f * (40 - 32));  // high nibbles 8, high bits 2
}

TEST_CASE("all 65536 halves decode exactly", "[quant]") {
  const auto decode = dtype_info(DType::kF16).decode;
  for (uint32_t half = 0; half < 65536; ++half) {
    const uint8_t source[2] = {static_cast<uint8_t>(half), static_cast<uint8_t>(half >> 8)};
    float value;
    decode(source, &value, 1);
    const int exponent = half >> 10 & 31, mantissa = half & 1023;
    const double sign = half >> 15 ? -1 : 1;
    if (exponent == 31 && mantissa != 0) {
      REQUIRE(std::isnan(value));
      continue;
    }
    const double magnitude = exponent == 31  ? std::numeric_limits<double>::infinity()
                             : exponent == 0 ? std::ldexp(mantissa, -24)
                                             : std::ldexp(mantissa + 1024, exponent - 25);
    REQUIRE(static_cast<double>(value) == sign * magnitude);
    REQUIRE(std::signbit(value) == (half >> 15 != 0));
  }
}
}  // namespace
}  // namespace g4
