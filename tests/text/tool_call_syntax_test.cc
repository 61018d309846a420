#include "text/tool_call_syntax.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace g4;
using nlohmann::json;

namespace {
constexpr char kQuote[] = "<|\"|>";

// Every ~ is a quote token.
ToolCall parse(const std::string& text) {
  std::string raw;
  std::vector<size_t> quotes;
  for (const char c : text) {
    if (c == '~') quotes.push_back(raw.size());
    raw += c == '~' ? kQuote : std::string(1, c);
  }
  return parse_tool_call(raw, quotes);
}

void check(const std::string& text, const char* name, const std::string& arguments) {
  INFO(text);
  const ToolCall call = parse(text);
  CHECK(call.valid);
  CHECK(call.name == name);
  REQUIRE(json::accept(call.arguments));
  CHECK(json::parse(call.arguments) == json::parse(arguments));
}

void check_invalid(const std::string& text, const char* name, const std::string& raw) {
  INFO(text);
  const ToolCall call = parse(text);
  CHECK_FALSE(call.valid);
  CHECK(call.name == name);
  REQUIRE(json::accept(call.arguments));
  CHECK(json::parse(call.arguments) == json(raw));
}
}  // namespace

TEST_CASE("tool call: as the template writes it") {
  check("call:get_weather{city:~Paris~,days:2}", "get_weather", R"({"city":"Paris","days":2})");
  check("call:f{}", "f", "{}");
  check("call:f{a:~~}", "f", R"({"a":""})");
  check("call:f{a:true,b:false,c:None,d:null,e:-1.5e-07,f:0}", "f",
        R"({"a":true,"b":false,"c":null,"d":null,"e":-1.5e-07,"f":0})");
  check("call:f{a:{b:[{c:[1,[2,{d:[]}],{}]},~x~]},e:{}}", "f",
        R"({"a":{"b":[{"c":[1,[2,{"d":[]}],{}]},"x"]},"e":{}})");
  check("call:f{~quoted key~:~x~}", "f", R"({"quoted key":"x"})");
  check("call:f{город:~Ёлка~,日本:~🦙~}", "f", R"({"город":"Ёлка","日本":"🦙"})");
  check("call:weather.v1:get{x:1}", "weather.v1:get", R"({"x":1})");
  check("call:f{n:12345678901234567890123}", "f", R"({"n":12345678901234567890123})");
}

TEST_CASE("tool call: strings hold anything") {
  check("call:f{a:~say \"hi\", it's~}", "f", R"({"a":"say \"hi\", it's"})");
  check("call:f{a:~\"\"\"doc\"\"\"~,b:~'''~}", "f", R"({"a":"\"\"\"doc\"\"\"","b":"'''"})");
  check("call:f{a:~a}b]c,d{e[f:g~,b:~},{~}", "f", R"({"a":"a}b]c,d{e[f:g","b":"},{"})");
  check("call:f{a:~~,b c:[~}  ~,-1,~:~]}", "f", R"({"a":"","b c":["}  ",-1,":"]})");
  check("call:f{a:~one\ntwo\\n\t~}", "f", R"({"a":"one\ntwo\\n\t"})");
  check("call:f{a:~<tool_call|> <|\"|> <end_of_turn>~}", "f", R"({"a":"<tool_call|> <|\"|> <end_of_turn>"})");
  check(std::string("call:f{a:~x\0y~}", 15), "f", R"({"a":"x\u0000y"})");
}

TEST_CASE("tool call: a quote token inside a string does not end it") {
  check("call:f{code:~print(~hi~)~}", "f", R"j({"code":"print(<|\"|>hi<|\"|>)"})j");
  check("call:f{code:~say(~a~, ~b~)~,n:1}", "f", R"j({"code":"say(<|\"|>a<|\"|>, <|\"|>b<|\"|>)","n":1})j");
  check("call:f{l:[~one ~ two~,~three~]}", "f", R"({"l":["one <|\"|> two","three"]})");
  check("call:f{a:~if (x) {print(~y~)}~,b:~z~}", "f", R"j({"a":"if (x) {print(<|\"|>y<|\"|>)}","b":"z"})j");
}

TEST_CASE("tool call: JSON and Python spellings are understood") {
  check(R"(call:f{"a":"b\n\"c\" \u00e9 \ud83e\udd99 \/","d":[1,"e"]})", "f",
        R"({"a":"b\n\"c\" é 🦙 /","d":[1,"e"]})");
  check("call:f{'a':'it\\'s','b':True,'c':False,'d':None}", "f",
        R"({"a":"it's","b":true,"c":false,"d":null})");
  check(R"(call:f{"a":"\x \ud800 \u12"})", "f", "{\"a\":\"\\\\x \xEF\xBF\xBD \\\\u12\"}");
  check("call:f{city:Paris, date:2026-11-30, note:two words}", "f",
        R"({"city":"Paris","date":"2026-11-30","note":"two words"})");
  check("call:f{a:007,b:+5,c:.5,d:1.,e:- 1,f:NaN}", "f",
        R"({"a":"007","b":"+5","c":".5","d":"1.","e":"- 1","f":"NaN"})");
  check("f{a:1}", "f", R"({"a":1})");
}

TEST_CASE("tool call: commas may be missing, too many, or last; blanks are free") {
  check("call:f{a:~x~b:~y~}", "f", R"({"a":"x","b":"y"})");
  check("call:f{a:~x~ ~b~:~y~}", "f", R"({"a":"x","b":"y"})");
  check("call:f{a:1 b:2}", "f", R"({"a":1,"b":2})");
  check("call:f{l:[~x~~y~ ~z~]}", "f", R"({"l":["x","y","z"]})");
  check("call:f{a:{b:~x~}c:1}", "f", R"({"a":{"b":"x"},"c":1})");
  check("call:f{,a:~x~,,b:[1,2,],}", "f", R"({"a":"x","b":[1,2]})");
  check(" call: f { a : ~x~ ,\n\tb : [ 1 , 2 ] } \n", "f", R"({"a":"x","b":[1,2]})");
}

TEST_CASE("tool call: what cannot be read stays as it is") {
  check_invalid("", "", "");
  check_invalid("call:f", "f", "");
  check_invalid("call:{a:1}", "", "a:1");
  check_invalid("call:f{a:~Par", "f", "a:<|\"|>Par");
  check_invalid("call:f{a:1,b", "f", "a:1,b");
  check_invalid("call:f{a:}", "f", "a:");
  check_invalid("call:f{:1}", "f", ":1");
  check_invalid("call:f{a}", "f", "a");
  check_invalid("call:f{a:[1}", "f", "a:[1");
  check_invalid("call:f{a:1]}", "f", "a:1]");
  check_invalid("call:f{a:1} and more", "f", "a:1} and more");
  check_invalid("call:f{\"a\":\"b}", "f", "\"a\":\"b");
  check_invalid("call:f{~a}", "f", "<|\"|>a");
}

TEST_CASE("tool call: nesting is limited") {
  const auto nested = [](size_t depth) {
    return "call:f{a:" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  CHECK(parse(nested(47)).valid);
  CHECK_FALSE(parse(nested(48)).valid);
  CHECK_FALSE(parse(nested(1000000)).valid);
  CHECK_FALSE(parse("call:f{a:" + std::string(1000000, '{')).valid);
}

TEST_CASE("tool call: every cut of a call gives JSON") {
  const std::string whole = "call:f{a:~x,~,b:[1,{c:~~},\"d\\n\",'e'],f:None}";
  for (size_t i = 0; i <= whole.size(); ++i) {
    const ToolCall call = parse(whole.substr(0, i));
    CHECK(json::accept(call.arguments));
    CHECK(call.valid == (i == whole.size()));
  }
}

TEST_CASE("tool call: megabytes of arguments of any kind take time in proportion") {
  // Each of these would take hours with a search that starts again for every quote, blank or key.
  const auto repeat = [](const std::string& unit, size_t size) {
    std::string text;
    while (text.size() < size) text += unit;
    return text;
  };
  CHECK(parse("call:f{a:~" + repeat("x", 10 << 20) + "~}").valid);
  CHECK(parse("call:f{a:~" + repeat("~ ", 1 << 20) + "~}").valid);
  CHECK(parse("call:f{a:[" + repeat("~x~,", 1 << 20) + "]}").valid);
  CHECK(parse("call:f{" + repeat("a:~x~,", 1 << 20) + "}").valid);
  CHECK(parse("call:f{a:" + repeat("word ", 1 << 20) + "}").valid);
  CHECK_FALSE(parse("call:f{a:~" + repeat("~,\"", 1 << 20) + "}").valid);
  CHECK_FALSE(parse("call:f{a:~" + repeat("~}", 1 << 20) + "x").valid);
  CHECK_FALSE(parse("call:f{a:~" + repeat("~ ab", 1 << 20) + "x").valid);
}
