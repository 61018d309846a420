#include "io/gguf_metadata.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/support/gguf_writer.h"

namespace g4 {
namespace {
using Catch::Contains;

GgufWriter with_raw(const std::string& value) { return GgufWriter().set_raw("k", value); }
std::string array_of(uint32_t type, uint64_t count, const std::string& elements) {
  return bytes_of<uint32_t>(kGgufArray) + bytes_of(type) + bytes_of(count) + elements;
}
// Parsing fails with a format error; the message.
std::string format_message(const GgufWriter& writer) {
  const GgufInMemory file(writer);
  REQUIRE(absl::IsDataLoss(file.status()));
  return file.message();
}
}  // namespace

TEST_CASE("gguf metadata: integers of any width convert when they fit", "[io]") {
  GgufWriter writer;
  writer.set("u8", uint8_t{200})
      .set("i8", int8_t{-100})
      .set("u16", uint16_t{60000})
      .set("i16", int16_t{-30000});
  writer.set("u32", uint32_t{4000000000})
      .set("i32", int32_t{-5})
      .set("u64", uint64_t{1} << 62)
      .set("i64", INT64_MIN);
  writer.set("huge", UINT64_MAX).set("pi", 3.5f).set("yes", true).set("text", std::string("7"));
  writer.set_array("list", std::vector<int32_t>{1});
  const GgufInMemory file(writer);
  REQUIRE(file.ok());
  CHECK(*file->get_int("u8") == 200);
  CHECK(*file->get_int("i8") == -100);
  CHECK(*file->get_int("u16") == 60000);
  CHECK(*file->get_int("i16") == -30000);
  CHECK(*file->get_int("u32") == 4000000000);
  CHECK(*file->get_int("i32") == -5);
  CHECK(*file->get_int("u64") == int64_t{1} << 62);
  CHECK(*file->get_int("i64") == INT64_MIN);
  CHECK(absl::IsDataLoss(file->get_int("huge").status()));
  for (const char* key : {"pi", "yes", "text", "list"}) {
    const Status status = file->get_int(key).status();
    CHECK(absl::IsDataLoss(status));
    CHECK_THAT(std::string(status.message()), Contains(key) && Contains("expected an integer"));
  }
}

TEST_CASE("gguf metadata: floats, bools and strings only from their own types", "[io]") {
  GgufWriter writer;
  writer.set("f32", 1.5f).set("f64", -2.25).set("nan", std::numeric_limits<float>::quiet_NaN());
  writer.set("yes", true)
      .set("no", false)
      .set("text", std::string("g\xc3\xbcte"))
      .set("empty", std::string())
      .set("int", int32_t{1});
  const GgufInMemory file(writer);
  REQUIRE(file.ok());
  CHECK(*file->get_float("f32") == 1.5);
  CHECK(*file->get_float("f64") == -2.25);
  CHECK(std::isnan(*file->get_float("nan")));
  CHECK(*file->get_bool("yes"));
  CHECK_FALSE(*file->get_bool("no"));
  CHECK(*file->get_string("text") == "g\xc3\xbcte");
  CHECK(file->get_string("empty")->empty());
  CHECK(absl::IsDataLoss(file->get_float("int").status()));
  CHECK(absl::IsDataLoss(file->get_bool("int").status()));
  CHECK_THAT(std::string(file->get_string("int").status().message()),
             Contains("key int has type int32, expected a string"));
}

TEST_CASE("gguf metadata: an absent key is NotFound and named", "[io]") {
  const GgufInMemory file(GgufWriter().set("b", 1).set("d", 2));
  REQUIRE(file.ok());
  for (const char* key : {"a", "c", "e", ""}) {
    CHECK_FALSE(file->has(key));
    CHECK(absl::IsNotFound(file->get_int(key).status()));
  }
  CHECK(file->has("b"));
  CHECK(file->has("d"));
  CHECK_THAT(std::string(file->get_string_array("nope").status().message()), Contains("nope"));
}

TEST_CASE("gguf metadata: arrays", "[io]") {
  GgufWriter writer;
  writer.set_array("ints", std::vector<int16_t>{-1, 0, 300})
      .set_array("bools", std::vector<bool>{true, false, true});
  writer.set_array("u64", std::vector<uint64_t>{1, UINT64_MAX})
      .set_array("floats", std::vector<float>{0.5f, -1e30f});
  writer.set_array("doubles", std::vector<double>{0.25}).set_array("none", std::vector<std::string>{});
  writer.set_array("texts", std::vector<std::string>{"a", "", "long \xe2\x96\x81 one"})
      .set("one", uint32_t{1});
  const GgufInMemory file(writer);
  REQUIRE(file.ok());
  CHECK(*file->get_int_array("ints") == std::vector<int64_t>{-1, 0, 300});
  CHECK(*file->get_int_array("bools") == std::vector<int64_t>{1, 0, 1});
  CHECK(absl::IsDataLoss(file->get_int_array("u64").status()));
  CHECK(*file->get_float_array("floats") == std::vector<float>{0.5f, -1e30f});
  CHECK(*file->get_float_array("doubles") == std::vector<float>{0.25f});
  CHECK(file->get_string_array("none")->empty());
  CHECK(*file->get_string_array("texts") == std::vector<std::string_view>{"a", "", "long \xe2\x96\x81 one"});
  CHECK_THAT(std::string(file->get_int_array("texts").status().message()),
             Contains("key texts has type array of string, expected an array of integers"));
  CHECK(absl::IsDataLoss(file->get_string_array("one").status()));
  CHECK(absl::IsDataLoss(file->get_float_array("ints").status()));
  CHECK(file->is_array("ints"));
  CHECK_FALSE(file->is_array("one"));
  CHECK_FALSE(file->is_array("absent"));
  CHECK(file->array_length("texts") == 3);
  CHECK(file->array_length("one") == 0);
  CHECK(file->array_length("absent") == 0);
}

TEST_CASE("gguf metadata: wrong values are named", "[io]") {
  CHECK_THAT(format_message(with_raw(bytes_of<uint32_t>(13))),
             Contains("key k") && Contains("type number 13"));
  CHECK_THAT(format_message(with_raw(array_of(255, 0, ""))),
             Contains("key k") && Contains("type number 255"));
  CHECK_THAT(format_message(with_raw(bytes_of<uint32_t>(kGgufBool) + '\2')),
             Contains("key k") && Contains("bool of 2"));
  CHECK_THAT(format_message(with_raw(array_of(kGgufBool, 3, std::string("\0\1\3", 3)))),
             Contains("bool of 3"));
  const GgufInMemory nested(with_raw(array_of(kGgufArray, 1, array_of(kGgufU8, 0, ""))));
  CHECK(absl::IsUnimplemented(nested.status()));
  CHECK_THAT(nested.message(), Contains("key k") && Contains("array of arrays"));
}

TEST_CASE("gguf metadata: claims larger than the file are refused", "[io]") {
  for (const uint64_t count :
       {uint64_t{2}, uint64_t{1} << 32, uint64_t{1} << 61, uint64_t{1} << 63, UINT64_MAX}) {
    for (const uint32_t type : {kGgufU8, kGgufBool, kGgufF32, kGgufU64, kGgufString}) {
      INFO("type " << type << ", count " << count);
      CHECK_THAT(format_message(with_raw(array_of(type, count, ""))), Contains("key k"));
    }
    CHECK_THAT(format_message(with_raw(bytes_of<uint32_t>(kGgufString) + bytes_of(count))),
               Contains("key k"));
  }
}

TEST_CASE("gguf metadata: names of keys are short printable ASCII, and unique", "[io]") {
  GgufWriter writer;
  const auto message = [](const std::string& name) {
    GgufWriter named;
    named.keys = {{"first", bytes_of<uint32_t>(kGgufU8) + '\1'}, {name, bytes_of<uint32_t>(kGgufU8) + '\1'}};
    return format_message(named);
  };
  CHECK_THAT(message(""), Contains("key number 1 has 0 bytes"));
  CHECK_THAT(message(std::string(65536, 'x')), Contains("key number 1 has 65536 bytes"));
  CHECK_THAT(message("caf\xc3\xa9"), Contains("key number 1 holds byte 195"));
  CHECK_THAT(message(std::string("a\0b", 3)), Contains("holds byte 0"));
  CHECK_THAT(message("two words"), Contains("holds byte 32"));
  CHECK_THAT(message("first"), Contains("key first is there twice"));
  CHECK(GgufInMemory(GgufWriter().set(std::string(65535, 'x'), 1)).ok());
  // A long name is cut in messages.
  CHECK(message(std::string(70000, 'x')).size() < 200);
  writer.keys = {{std::string(60000, 'x'), bytes_of<uint32_t>(99)}};
  CHECK(format_message(writer).size() < 300);
}

TEST_CASE("gguf metadata: strings have a limit, templates a larger one", "[io]") {
  const size_t mega = size_t{1} << 20;
  CHECK(GgufInMemory(GgufWriter().set("k", std::string(mega, 'x'))).ok());
  CHECK_THAT(format_message(GgufWriter().set("k", std::string(mega + 1, 'x'))),
             Contains("key k") && Contains("1048577 bytes"));
  CHECK_THAT(
      format_message(GgufWriter().set_array("k", std::vector<std::string>{"a", std::string(mega + 1, 'x')})),
      Contains("1048577"));
  CHECK(GgufInMemory(GgufWriter().set("tokenizer.chat_template", std::string(4 * mega, 'x'))).ok());
  CHECK_THAT(format_message(GgufWriter().set("tokenizer.chat_template", std::string(4 * mega + 1, 'x'))),
             Contains("tokenizer.chat_template") && Contains("4194305"));
}

TEST_CASE("gguf metadata: more keys than allowed, or than there are", "[io]") {
  GgufWriter writer;
  writer.set("k", 1);
  writer.key_count = 65537;
  CHECK_THAT(format_message(writer), Contains("65537 keys"));
  writer.key_count = UINT64_MAX;
  CHECK_THAT(format_message(writer), Contains("18446744073709551615 keys"));
  for (const uint64_t count : {2, 65536}) {
    writer.key_count = count;
    CHECK_THAT(format_message(writer), Contains("key number 1"));
  }
}
}  // namespace g4
