#include "text/unicode.h"

#include <catch2/catch.hpp>

using namespace g4;

namespace {
std::string valid(std::string_view bytes) {
  std::string out;
  append_valid_utf8(bytes, &out);
  return out;
}
}  // namespace

TEST_CASE("unicode: every code point survives UTF-8, and nothing else is valid") {
  bool all_survive = true;
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    std::string bytes;
    append_utf8(code, &bytes);
    const Utf8Char c = decode_utf8(bytes);
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    all_survive &= surrogate ? c.bytes == 0 : c.code == code && c.bytes == bytes.size();
  }
  CHECK(all_survive);
  for (const char* wrong : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF",
                            "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
                            "\xFF", "\xC3", "\xE2\x82", "\xC3(", "\xE2(\x82"})
    CHECK(decode_utf8(wrong).bytes == 0);
}

TEST_CASE("unicode: the beginning of a character is told from a wrong one") {
  for (const char* prefix : {"\xC3", "\xE2", "\xE2\x82", "\xF0\x9F", "\xF0\x9F\xA6", "\xE0\xA0", "\xED\x9F"})
    CHECK(is_utf8_prefix(prefix));
  for (const char* none :
       {"", "a", "\x80", "\xC0", "\xFF", "\xC3\xA9", "\xE0\x80", "\xED\xA0", "\xF4\x90", "\xE2\x82\xAC"})
    CHECK_FALSE(is_utf8_prefix(none));
}

TEST_CASE("unicode: invalid bytes become U+FFFD, a cut character as one") {
  CHECK(valid("plain \xC3\xA9") == "plain \xC3\xA9");
  CHECK(valid("a\xFFz") == "a\xEF\xBF\xBDz");
  CHECK(valid("\xE2\x82z") == "\xEF\xBF\xBDz");
  CHECK(valid("\xF0\x9F\xA6") == "\xEF\xBF\xBD");
  CHECK(valid("\xC0\x80") == "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("unicode: strip takes what Python takes for white space") {
  CHECK(strip("\xE3\x80\x80\xC2\xA0\x1C\t a b \xE2\x80\xA9\xC2\x85\n") == "a b");
  CHECK(strip(" \n ").empty());
  CHECK(strip("").empty());
  CHECK(strip("\xE2\x80\x8B"
              "a\xEF\xBB\xBF") ==
        "\xE2\x80\x8B"
        "a\xEF\xBB\xBF");  // zero width space and BOM stay
}

TEST_CASE("unicode: case follows Unicode letter by letter") {
  CHECK(
      lower("AZ\xC3\x84\xC3\x9F \xD0\x98\xD0\xAF \xCE\xA9 \xC4\x80\xC5\xB8 \xEF\xBC\xA1 \xF0\x90\x90\x80") ==
      "az\xC3\xA4\xC3\x9F \xD0\xB8\xD1\x8F \xCF\x89 \xC4\x81\xC3\xBF \xEF\xBD\x81 \xF0\x90\x90\xA8");
  CHECK(upper("az\xC3\xA4\xC3\x9F \xD0\xB8 \xC4\x81 1\xE6\x97\xA5") ==
        "AZ\xC3\x84SS \xD0\x98 \xC4\x80 1\xE6\x97\xA5");
}

TEST_CASE("unicode: printable is what Python's repr shows as it is") {
  for (const char32_t code : {U'a', U' ', U'é', U'日', U'🦙', U'\u0301'}) CHECK(is_printable(code));
  for (const char32_t code :
       {0x0, 0x1F, 0x7F, 0xA0, 0xAD, 0x200D, 0x2028, 0x3000, 0xE000, 0xFEFF, 0xE0001, 0x10FFFD})
    CHECK_FALSE(is_printable(code));
}
