#include "text/chat_parser.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/test_data.h"
#include "tests/text/small_vocabulary.h"
#include "text/chat_template.h"
#include "text/unicode.h"

using namespace g4;
using Catch::Matchers::Contains;
using nlohmann::json;
using Ids = std::vector<int32_t>;

namespace {
// What a parser made of a stream, and the pieces it gave on the way.
struct Parsed {
  std::string text, thought, message;
  std::vector<ToolCall> calls;
  std::string pieces[3];  // by channel
  bool whole_characters = true;
};

Parsed parse(const Tokenizer& tokenizer, std::span<const int32_t> ids) {
  ChatParser parser(tokenizer);
  Parsed parsed;
  const auto take = [&](Channel channel, const std::string& piece) {
    parsed.pieces[static_cast<size_t>(channel)] += piece;
    std::string valid;
    append_valid_utf8(piece, &valid);
    parsed.whole_characters &= valid == piece;
  };
  std::string piece = "left from before";
  for (const int32_t id : ids) take(parser.push(id, &piece), piece);
  take(parser.finish(&piece), piece);
  parsed.text = parser.text();
  parsed.thought = parser.thought();
  parsed.calls = parser.tool_calls();
  parsed.message = parser.to_json();
  return parsed;
}

Ids encode(const Tokenizer& tokenizer, const std::string& text, bool parse_special) {
  return *tokenizer.encode(text, parse_special);
}

// An answer as text; control tokens in it are control tokens.
Parsed parse(const std::string& answer) {
  const auto tokenizer = SmallVocabulary().tokenizer();
  return parse(*tokenizer, encode(*tokenizer, answer, true));
}
}  // namespace

TEST_CASE("answer: text is text") {
  const Parsed parsed = parse("Hello 日本 🦙, {a:1} \"call:f{}\" <end_of_turn> thought\n");
  CHECK(parsed.text == "Hello 日本 🦙, {a:1} \"call:f{}\" <end_of_turn> thought\n");
  CHECK(parsed.thought.empty());
  CHECK(parsed.calls.empty());
  CHECK(parse("").text.empty());
}

TEST_CASE("answer: thoughts are kept apart from the answer") {
  const Parsed parsed = parse("<|channel>thought\nI see.\n<channel|>Hi<turn|>");
  CHECK(parsed.thought == "I see.\n");
  CHECK(parsed.text == "Hi");
  CHECK(parsed.pieces[static_cast<size_t>(Channel::kThought)] == "I see.\n");
  CHECK(parsed.pieces[static_cast<size_t>(Channel::kText)] == "Hi");
}

TEST_CASE("answer: odd thoughts") {
  CHECK(parse("<|channel>thought\n<channel|>Hi").text == "Hi");
  CHECK(parse("<|channel>thought\n<channel|>Hi").thought.empty());
  CHECK(parse("<|channel>thought<channel|>Hi").thought.empty());
  CHECK(parse("<|channel>thought\n\n\na").thought == "\n\na");
  CHECK(parse("<|channel>though").thought.empty());
  CHECK(parse("<|channel>I think<channel|>Hi").thought == "I think");
  CHECK(parse("<|channel>thoughtful\nx<channel|>").thought == "thoughtful\nx");
  CHECK(parse("<|channel>thought\na<channel|>b<|channel>thought\nc<channel|>d").thought == "ac");
  CHECK(parse("<|channel>thought\na<channel|>b<|channel>thought\nc<channel|>d").text == "bd");
  CHECK(parse("<channel|>Hi").text == "Hi");
  CHECK(parse("<|channel>thought\nnever closed").thought == "never closed");
  CHECK(parse("<|channel>thought\na<turn|>b").text == "b");
}

TEST_CASE("answer: tool calls") {
  const Parsed parsed = parse(
      "<|channel>thought\nCall.<channel|>Wait <|tool_call>call:f{a:<|\"|>b, \"c\"}<|\"|>,n:1}<tool_call|>"
      "<|tool_call>call:ns.g:h{}<tool_call|><|tool_response>");
  CHECK(parsed.text == "Wait ");
  CHECK(parsed.thought == "Call.");
  REQUIRE(parsed.calls.size() == 2);
  CHECK(parsed.calls[0].name == "f");
  CHECK(json::parse(parsed.calls[0].arguments) == json::parse(R"({"a":"b, \"c\"}","n":1})"));
  CHECK(parsed.calls[1].name == "ns.g:h");
  CHECK(parsed.calls[1].arguments == "{}");
  CHECK(parsed.pieces[static_cast<size_t>(Channel::kToolCall)] ==
        "call:f{a:<|\"|>b, \"c\"}<|\"|>,n:1}call:ns.g:h{}");
}

TEST_CASE("answer: a call without its end is read if it is whole, else marked") {
  for (const char* end : {"", "<turn|>", "<|tool_response>", "<eos>", "<|tool_call>", "<|channel>"}) {
    const Parsed parsed = parse("<|tool_call>call:f{a:1}" + std::string(end));
    REQUIRE(parsed.calls.size() >= 1);
    CHECK(parsed.calls[0].valid);
    CHECK(parsed.calls[0].arguments == "{\"a\":1}");
  }
  const Parsed cut = parse("<|tool_call>call:f{a:<|\"|>b");
  REQUIRE(cut.calls.size() == 1);
  CHECK_FALSE(cut.calls[0].valid);
  CHECK(json::parse(cut.calls[0].arguments) == json("a:<|\"|>b"));
  CHECK(parse("<tool_call|>Hi").calls.empty());
}

TEST_CASE("answer: control tokens written as text do nothing") {
  const auto tokenizer = SmallVocabulary().tokenizer();
  const std::string text =
      "<turn|><|channel>thought\nx<channel|><|tool_call>call:f{}<tool_call|><end_of_turn><eos>";
  const Parsed parsed = parse(*tokenizer, encode(*tokenizer, text, false));
  CHECK(parsed.text == text);
  CHECK(parsed.thought.empty());
  CHECK(parsed.calls.empty());
  // The characters of a quote token inside a string are not the token.
  Ids ids = encode(*tokenizer, "<|tool_call>call:f{a:<|\"|>x", true);
  for (const int32_t id : encode(*tokenizer, "<|\"|>}", false)) ids.push_back(id);
  for (const int32_t id : encode(*tokenizer, "<|\"|>}<tool_call|>", true)) ids.push_back(id);
  const Parsed call = parse(*tokenizer, ids);
  REQUIRE(call.calls.size() == 1);
  CHECK(json::parse(call.calls[0].arguments) == json({{"a", "x<|\"|>}"}}));
}

TEST_CASE("answer: pieces are whole characters") {
  const SmallVocabulary v;
  const auto tokenizer = v.tokenizer();
  const auto byte = [&](int value) { return v.id("<0x00>") + value; };
  ChatParser parser(*tokenizer);
  std::string piece;
  for (const int value : {0xF0, 0x9F, 0x98}) {
    parser.push(byte(value), &piece);
    CHECK(piece.empty());
  }
  parser.push(byte(0x80), &piece);
  CHECK(piece == "😀");
  parser.push(byte(0xFF), &piece);
  CHECK(piece == "\xEF\xBF\xBD");
  parser.push(byte(0xE6), &piece);
  CHECK(piece.empty());
  parser.push(v.id("a"), &piece);
  CHECK(piece ==
        "\xEF\xBF\xBD"
        "a");
  // A control token does not wait for the rest of a character; what was held belongs to the channel before
  // it.
  parser.push(byte(0xE6), &piece);
  CHECK(parser.push(v.id("<|channel>"), &piece) == Channel::kText);
  CHECK(piece == "\xEF\xBF\xBD");
  parser.push(v.id("b"), &piece);
  parser.push(byte(0xC3), &piece);
  CHECK(parser.finish(&piece) == Channel::kThought);
  CHECK(piece == "\xEF\xBF\xBD");
  CHECK(parser.text() ==
        "😀\xEF\xBF\xBD\xEF\xBF\xBD"
        "a\xEF\xBF\xBD");
  CHECK(parser.thought() == "b\xEF\xBF\xBD");
}

TEST_CASE("answer: the channel of every token") {
  const SmallVocabulary v;
  const auto tokenizer = v.tokenizer();
  ChatParser parser(*tokenizer);
  std::string piece;
  CHECK(parser.push(v.id("a"), &piece) == Channel::kText);
  CHECK(parser.push(v.id("<|channel>"), &piece) == Channel::kThought);
  CHECK(parser.push(v.id("thought"), &piece) == Channel::kThought);
  CHECK(piece.empty());
  CHECK(parser.push(v.id("\n"), &piece) == Channel::kThought);
  CHECK(piece.empty());
  CHECK(parser.push(v.id("b"), &piece) == Channel::kThought);
  CHECK(piece == "b");
  CHECK(parser.push(v.id("<channel|>"), &piece) == Channel::kText);
  CHECK(parser.push(v.id("<|tool_call>"), &piece) == Channel::kToolCall);
  CHECK(parser.push(v.id("call"), &piece) == Channel::kToolCall);
  CHECK(piece == "call");
  CHECK(parser.push(v.id("<|\"|>"), &piece) == Channel::kToolCall);
  CHECK(piece == "<|\"|>");
  CHECK(parser.push(v.id("<tool_call|>"), &piece) == Channel::kText);
  CHECK(piece.empty());
  for (const int32_t id : {-1, INT32_MAX, tokenizer->vocab_size()}) {
    CHECK(parser.push(id, &piece) == Channel::kText);
    CHECK(piece.empty());
  }
  CHECK(parser.tool_calls().size() == 1);
}

TEST_CASE("answer: cut anywhere, the pieces are the text and the message is sound") {
  const auto tokenizer = SmallVocabulary().tokenizer();
  const Ids ids =
      encode(*tokenizer,
             "a日<|channel>thought\nb🦙\n<channel|>c "
             "é<|tool_call>call:f{a:<|\"|>é\n}<|\"|>,b:[1,{c:None}]}<tool_call|>d<|\"|><|tool_call>"
             "call:g{x:<|\"|>🦙<|\"|><turn|><|tool_response>e<|channel><|channel>f<channel|><bos>g",
             true);
  const std::span<const int32_t> all(ids);
  for (size_t n = 0; n <= ids.size(); ++n) {
    const Parsed parsed = parse(*tokenizer, all.first(n));
    CHECK(parsed.whole_characters);
    CHECK(parsed.pieces[static_cast<size_t>(Channel::kText)] == parsed.text);
    CHECK(parsed.pieces[static_cast<size_t>(Channel::kThought)] == parsed.thought);
    REQUIRE(json::accept(parsed.message));
    CHECK(render_chat("[{\"role\":\"user\",\"content\":\"q\"}," + parsed.message + "]", {}).ok());
  }
  CHECK(parse(*tokenizer, ids).text == "a日c édeg");
}

TEST_CASE("answer: the message goes back into the conversation as the model wrote it") {
  const std::string call = "<|tool_call>call:f{a:<|\"|>b \"}<|\"|>,c:[1,{d:None}],e:true}<tool_call|>";
  const std::string question = R"({"role":"user","content":"q"},)";
  const Parsed with_call = parse("<|channel>thought\nWhy.\n<channel|>" + call);
  CHECK(
      with_call.message ==
      R"({"role":"assistant","reasoning_content":"Why.","tool_calls":[{"type":"function","id":"call_0","function":)"
      R"({"name":"f","arguments":{"a":"b \"}","c":[1,{"d":null}],"e":true}}}]})");
  CHECK_THAT(render_chat("[" + question + with_call.message + "]", {})->text,
             Contains("<|turn>model\n<|channel>thought\nWhy.\n<channel|>" + call));
  CHECK_THAT(
      render_chat("[" + question + with_call.message + "]", {.variant = ChatTemplate::kInterleaved})->text,
      Contains("<|channel>thought\nWhy.<channel|>" + call));
  CHECK(parse("Hi \"you\"\n").message == R"({"role":"assistant","content":"Hi \"you\"\n"})");
  CHECK(parse("").message == R"({"role":"assistant"})");
  const Parsed broken = parse("<|tool_call>call:f{a:<|\"|>b}<tool_call|>");
  CHECK_THAT(render_chat("[" + broken.message + "]", {})->text,
             Contains("<|tool_call>call:f{a:<|\"|>b}<tool_call|>"));
}

TEST_CASE("answer: the reference calls read back as they were") {
  // Every call that the templates write for the goldens, through the demo model's vocabulary.
  const auto tokenizer =
      *Tokenizer::from_metadata(*GgufInMemory(read_file(golden_path("demo/g4-demo-f32.gguf"))));
  int checked = 0;
  for (const json& row : json::parse(read_file(golden_source_path("chat/extra.json")))) {
    if (row["template"] != "plain" || row["name"].get<std::string>().find("control tokens") == 0) continue;
    for (const json& message : row["messages"]) {
      if (!message.contains("tool_calls") || !message["tool_calls"].is_array()) continue;
      for (const json& call : message["tool_calls"]) {
        const json& function = call["function"];
        if (!function.contains("arguments") || !function["arguments"].is_object()) continue;
        // The template writes keys as they are: only some can be told from what is around them.
        bool plain_keys = true;
        const json flat = function["arguments"].flatten();
        for (const auto& [key, value] : flat.items())
          plain_keys &=
              key.find_first_of("\"'{}[]:,") == key.npos && key.find("//") == key.npos && !key.ends_with('/');
        if (!plain_keys) continue;
        const auto chat =
            *render_chat(json::array({{{"role", "assistant"}, {"tool_calls", {call}}}}).dump(), {});
        const Parsed parsed = parse(*tokenizer, *tokenize_chat(*tokenizer, chat));
        INFO(chat.text);
        REQUIRE(parsed.calls.size() == 1);
        CHECK(parsed.calls[0].name == function["name"]);
        CHECK(json::parse(parsed.calls[0].arguments) == function["arguments"]);
        ++checked;
      }
    }
  }
  CHECK(checked > 100);
}

TEST_CASE("answer: megabytes of arguments arrive") {
  const SmallVocabulary v;
  const auto tokenizer = v.tokenizer();
  Ids ids = encode(*tokenizer, "<|tool_call>call:f{a:<|\"|>", true);
  ids.insert(ids.end(), 10 << 20, v.id("a"));
  for (const int32_t id : encode(*tokenizer, "<|\"|>}<tool_call|>", true)) ids.push_back(id);
  ChatParser parser(*tokenizer);
  std::string piece;
  for (const int32_t id : ids) parser.push(id, &piece);
  REQUIRE(parser.tool_calls().size() == 1);
  CHECK(parser.tool_calls()[0].valid);
  CHECK(parser.tool_calls()[0].arguments.size() == (10 << 20) + std::string("{\"a\":\"\"}").size());
}
