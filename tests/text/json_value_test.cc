#include "text/json_value.h"

#include <catch2/catch.hpp>

using namespace g4;
using Catch::Matchers::Contains;

namespace {
JsonValue parse(std::string_view text) { return *parse_json(text, 64); }
std::string printed(std::string_view text) { return python_str(parse(text)); }
}  // namespace

TEST_CASE("json: values print as in Python") {
  CHECK(printed("null") == "None");
  CHECK(printed("true") == "True");
  CHECK(printed("false") == "False");
  CHECK(printed("\"it's\"") == "it's");
  CHECK(python_str(JsonValue()).empty());
  CHECK(printed("[]") == "[]");
  CHECK(printed("{}") == "{}");
  CHECK(printed(R"(["a", 1, null, {"k": [true]}])") == "['a', 1, None, {'k': [True]}]");
  CHECK(printed(R"(["it's", "say \"x\"", "both ' and \"", "\\ \n\r\t"])") ==
        R"(["it's", 'say "x"', 'both \' and "', '\\ \n\r\t'])");
  CHECK(printed("[\"\\u0000\\u007f\\u00a0\\u200d\\ufeff\\ue000\\udb40\\udc01\"]") ==
        R"(['\x00\x7f\xa0\u200d\ufeff\ue000\U000e0001'])");
  CHECK(printed("[\"日本 🦙 é\"]") == "['日本 🦙 é']");
}

TEST_CASE("json: numbers print as in Python") {
  const std::pair<const char*, const char*> kNumbers[] = {
      {"0", "0"},
      {"-0", "0"},
      {"-17", "-17"},
      {"18446744073709551615", "18446744073709551615"},
      {"1.0", "1.0"},
      {"-0.0", "-0.0"},
      {"1e0", "1.0"},
      {"100000000000000000000000", "100000000000000000000000"},
      {"0.1", "0.1"},
      {"1e15", "1000000000000000.0"},
      {"1e16", "1e+16"},
      {"123e20", "1.23e+22"},
      {"0.0001", "0.0001"},
      {"0.00001", "1e-05"},
      {"-2.5e-7", "-2.5e-07"},
      {"5e-324", "5e-324"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"},
      {"1e-5000", "0.0"},
      {"123456.789", "123456.789"},
      {"9007199254740993.0", "9007199254740992.0"},
      {"1E2", "100.0"}};
  for (const auto& [text, expected] : kNumbers) CHECK(printed(text) == expected);
}

TEST_CASE("json: truth is Python's") {
  for (const char* text : {"null", "false", "0", "0.0", "-0.0", "\"\"", "[]", "{}"})
    CHECK_FALSE(parse(text).truthy());
  for (const char* text : {"true", "1", "-0.5", "\" \"", "[null]", "{\"a\":0}", "100000000000000000000"})
    CHECK(parse(text).truthy());
  CHECK_FALSE(JsonValue().truthy());
}

TEST_CASE("json: members are found by key; what is not there is undefined") {
  const JsonValue value = parse(R"({"a": {"b": [1]}, "": 2})");
  CHECK(python_str(value["a"]["b"]) == "[1]");
  CHECK(value[""].text == "2");
  CHECK(value["x"]["y"].kind == JsonValue::Kind::kUndefined);
  CHECK(value["a"]["b"]["c"].kind == JsonValue::Kind::kUndefined);
}

TEST_CASE("json: of equal keys the first place and the last value stay") {
  CHECK(printed(R"({"a": 1, "b": 2, "a": 3, "c": 4, "b": 5, "a": 6})") == "{'a': 6, 'b': 5, 'c': 4}");
}

TEST_CASE("json: members are sorted by key without case, equals in their order") {
  const JsonValue value = parse(R"({"b":0,"Я":0,"A":0,"а":0,"B":0,"a":0,"Z":0,"_":0,"1":0,"":0})");
  std::string order;
  for (const size_t i : value.sorted()) order += value.keys[i] + ",";
  CHECK(order == ",1,_,A,a,b,B,Z,а,Я,");
}

TEST_CASE("json: what is no JSON is refused with its place") {
  for (const char* text : {"", "{", "[1,]", "{\"a\":}", "nul", "\"\xFF\"", "\"\\ud800\"", "1e999", "[1] x",
                           "{\"a\" 1}", "'a'", "\"\n\"", "NaN"}) {
    INFO(text);
    const auto result = parse_json(text, 64);
    REQUIRE(result.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(result.status().message()), Contains("not valid JSON at byte"));
  }
}

TEST_CASE("json: nesting is limited") {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(parse_json(nested(64), 64).ok());
  for (const size_t depth : {size_t{65}, size_t{1000000}}) {
    const auto result = parse_json(nested(depth), 64);
    REQUIRE_FALSE(result.ok());
    CHECK_THAT(std::string(result.status().message()), Contains("deeper than 64"));
  }
  std::string objects;
  for (int i = 0; i < 65; ++i) objects += "{\"a\":";
  CHECK_FALSE(parse_json(objects, 64).ok());
}

TEST_CASE("json: strings are written so that they read back") {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  all += "é日🦙";
  std::string written;
  append_json_string(all, &written);
  CHECK(parse(written).text == all);
  CHECK(written.find('\n') == std::string::npos);
}
