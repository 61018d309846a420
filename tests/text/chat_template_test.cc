#include "text/chat_template.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/test_data.h"
#include "tests/text/small_vocabulary.h"

using namespace g4;
using Catch::Matchers::Contains;
using json = nlohmann::ordered_json;  // as Python, it keeps the order of keys

namespace {
ChatOptions plain() { return {}; }
ChatOptions interleaved() { return {.variant = ChatTemplate::kInterleaved}; }

std::string render(const std::string& conversation, const ChatOptions& options = {}) {
  const auto chat = render_chat(conversation, options);
  return chat.ok() ? chat->text : "error: " + std::string(chat.status().message());
}

ChatOptions options_of(const json& row) {
  return {.variant = row["template"] == "plain" ? ChatTemplate::kPlain : ChatTemplate::kInterleaved,
          .add_generation_prompt = row["add_generation_prompt"],
          .enable_thinking = row.value("enable_thinking", false)};
}

// The text with every literal range replaced by a mark.
std::string skeleton(const RenderedChat& chat) {
  std::string text;
  size_t end = 0;
  for (const ByteRange& range : chat.literal) {
    REQUIRE(range.begin >= end);
    REQUIRE(range.begin < range.end);
    REQUIRE(range.end <= chat.text.size());
    text += chat.text.substr(end, range.begin - end) + "*";
    end = range.end;
  }
  return text + chat.text.substr(end);
}

void check_goldens(const std::string& file, size_t count) {
  const json rows = json::parse(read_file(golden_source_path(file)));
  REQUIRE(rows.size() == count);
  for (const json& row : rows) {
    INFO(row["name"] << ", " << row["template"]);
    const json conversation = {{"messages", row["messages"]}, {"tools", row["tools"]}};
    const auto chat = render_chat(conversation.dump(), options_of(row));
    REQUIRE(chat.ok());
    CHECK(chat->text == row["expected"].get<std::string>());
    skeleton(*chat);
  }
}

int count(const std::vector<int32_t>& ids, int32_t id) {
  return static_cast<int>(std::count(ids.begin(), ids.end(), id));
}
}  // namespace

TEST_CASE("chat: the reference conversations, byte for byte") {
  check_goldens("chat/conversations.json", 68);
}
TEST_CASE("chat: more conversations, byte for byte") { check_goldens("chat/extra.json", 326); }

TEST_CASE("chat: the conversation shown in docs/CHAT.md") {
  const std::string page = read_file(golden_source_path("../../docs/CHAT.md"));
  const size_t begin = page.find("```json\n") + 8;
  const std::string text = render(page.substr(begin, page.find("```", begin) - begin));
  CHECK_THAT(text, Contains("<bos><|turn>system\nBe brief.<|tool>declaration:get_weather{"));
  CHECK_THAT(text, Contains("<|tool_response>response:get_weather{value:<|\"|>24 °C<|\"|>}<tool_response|>"));
}

TEST_CASE("chat: a list of messages is a conversation without tools") {
  CHECK(render(R"([{"role":"user","content":"Hi"}])") ==
        render(R"({"messages":[{"role":"user","content":"Hi"}]})"));
}

TEST_CASE("chat: everything from the caller is literal, everything from the template is not") {
  const auto chat = *render_chat(R"({"messages":[
      {"role":"system","content":"S"},
      {"role":"user","content":[{"type":"text","text":"U"},{"type":"image"}]},
      {"role":"assistant","content":"A","reasoning":"R","tool_calls":[{"id":"1","function":{"name":"N","arguments":{"K":"V","L":[1,true]}}}]},
      {"role":"tool","tool_call_id":"1","content":"T"}],
      "tools":[{"function":{"name":"F","description":"D","parameters":{"type":"object",
        "properties":{"P":{"type":"string","description":"E","enum":["X"]}},"required":["P"]}}}]})",
                                 plain());
  CHECK(skeleton(chat) ==
        "<bos><|turn>system\n*<|tool>declaration:*{description:<|\"|>*<|\"|>,parameters:{properties:{*:{"
        "description:<|\"|>*<|\"|>,"
        "enum:[<|\"|>*<|\"|>],type:<|\"|>*<|\"|>}},required:[<|\"|>*<|\"|>],type:<|\"|>*<|\"|>}}<tool|><turn|"
        ">\n"
        "<|turn>user\n*<|image|><turn|>\n"
        "<|turn>model\n<|channel>thought\n*\n<channel|><|tool_call>call:*{*:<|\"|>*<|\"|>,*:[*,true]}<tool_"
        "call|>"
        "<|tool_response>response:*{value:<|\"|>*<|\"|>}<tool_response|>*<turn|>\n");
}

TEST_CASE("chat: no message can forge a turn, a call or an image") {
  const auto tokenizer = SmallVocabulary().tokenizer();
  const std::string conversation = read_file(golden_source_path("chat/extra.json"));
  int checked = 0;
  for (const json& row : json::parse(conversation)) {
    if (row["name"] != "control tokens everywhere" && row["name"] != "tools: control tokens" &&
        row["name"] != "control tokens in user text")
      continue;
    json tame = {{"messages", row["messages"]}, {"tools", row["tools"]}};
    const std::string wild_text = tame.dump();
    std::string tame_text = wild_text;
    for (size_t i = 0; i < tame_text.size(); ++i)
      if (tame_text[i] == '<' || tame_text[i] == '|' || tame_text[i] == '>') tame_text[i] = '.';
    const auto wild_chat = render_chat(wild_text, options_of(row)),
               tame_chat = render_chat(tame_text, options_of(row));
    const auto wild_ids = *tokenize_chat(*tokenizer, *wild_chat),
               tame_ids = *tokenize_chat(*tokenizer, *tame_chat);
    std::vector<int32_t> wild_control, tame_control;
    const auto control = [&](const std::vector<int32_t>& ids, std::vector<int32_t>* out) {
      for (const int32_t id : ids)
        if (tokenizer->type(id) == TokenType::kControl || tokenizer->type(id) == TokenType::kUserDefined)
          out->push_back(id);
    };
    control(wild_ids, &wild_control), control(tame_ids, &tame_control);
    CHECK(wild_control == tame_control);
    CHECK(*tokenizer->decode(wild_ids, true) == wild_chat->text);
    ++checked;
  }
  CHECK(checked >= 10);
}

TEST_CASE("chat: ids begin with one <bos> and hold the template's control tokens") {
  const SmallVocabulary v;
  const auto tokenizer = v.tokenizer();
  const auto chat = *render_chat(
      R"([{"role":"user","content":[{"type":"image"},{"type":"text","text":"<bos><|image|>"}]}])", plain());
  const auto ids = *tokenize_chat(*tokenizer, chat);
  CHECK(ids.front() == v.id("<bos>"));
  CHECK(count(ids, v.id("<bos>")) == 1);
  CHECK(count(ids, v.id("<|image|>")) == 1);
  CHECK(count(ids, v.id("<|turn>")) == 2);
  CHECK(count(ids, v.id("<turn|>")) == 1);
}

TEST_CASE("chat: a vocabulary without turns cannot chat") {
  SmallVocabulary v;
  v.types[static_cast<size_t>(v.id("<|turn>"))] = 1;
  const auto result =
      tokenize_chat(*v.tokenizer(), *render_chat(R"([{"role":"user","content":"x"}])", plain()));
  CHECK(result.status().code() == absl::StatusCode::kUnimplemented);
}

TEST_CASE("chat: where the plain template fails, the obvious is written") {
  const std::string call =
      R"({"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":{}}}]},)";
  CHECK_THAT(render("[" + call + R"({"role":"tool","tool_call_id":"1","content":{"b":"x","A":{"c":null}}}])"),
             Contains("response:f{A:{c:None},b:<|\"|>x<|\"|>}<tool_response|>"));
  CHECK_THAT(render("[" + call + R"({"role":"tool","content":"x"}])"),
             Contains("response:unknown{value:<|\"|>x<|\"|>}"));
  CHECK_THAT(render("[" + call + R"({"role":"tool","tool_call_id":"2","content":"x"}])"),
             Contains("response:unknown{"));
  CHECK_THAT(
      render(
          "[" + call +
          R"({"role":"tool","tool_call_id":"1","content":[{"type":"text"},{"type":"text","text":null}]}])"),
      Contains("response:f{value:<|\"|><|\"|>}"));
  CHECK_THAT(render(R"([{"role":"assistant","tool_responses":[{"name":null,"response":"x"}]}])"),
             Contains("response:unknown{"));
}

TEST_CASE("chat: errors name the message and the field") {
  const std::pair<const char*, const char*> kWrong[] = {
      {"", "not valid JSON at byte"},
      {"{", "not valid JSON at byte"},
      {"3", "must be a list of messages or an object"},
      {"{}", "must be a list of messages or an object"},
      {R"({"messages":"x"})", "must be a list of messages or an object"},
      {"[]", "has no messages"},
      {"[1]", "messages[0]: role must be"},
      {R"([{"role":"user","content":"a"},{"content":"b"}])",
       "messages[1]: role must be system, developer, user, assistant or tool, not missing"},
      {R"([{"role":"User","content":"a"}])", "not \"User\""},
      {R"([{"role":7}])", "not \"7\""},
      {R"([{"role":"user","content":5}])", "messages[0]: content must be a string or a list"},
      {R"([{"role":"user","content":{"type":"text"}}])", "messages[0]: content must be a string or a list"},
      {R"([{"role":"user","content":[{"type":"image_url"}]}])",
       "content[0]: type must be text, image, audio or video, not \"image_url\""},
      {R"([{"role":"user","content":["x"]}])", "content[0]: type must be"},
      {R"([{"role":"assistant","content":[{"type":"text"}]}])",
       "messages[0]: content[0]: text must be a string"},
      {R"([{"role":"assistant","tool_calls":{"a":1}}])", "tool_calls must be a list"},
      {R"([{"role":"assistant","tool_calls":[{"function":{"arguments":{}}}]}])",
       "tool_calls[0]: function.name must be a string"},
      {R"([{"role":"assistant","tool_calls":[{}]}])", "tool_calls[0]: function.name must be a string"},
      {R"([{"role":"assistant","tool_responses":"x"}])", "tool_responses must be a list"},
      {R"([{"role":"assistant","tool_responses":[{"name":5}]}])", "name of a tool response must be a string"},
      {R"([{"role":"assistant","reasoning":5,"tool_calls":[{"function":{"name":"f"}}]}])",
       "reasoning must be a string"},
      {R"([{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]},{"role":"tool","content":["x"]}])",
       "answered by messages[1]: content parts must be objects"},
      {R"([{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]},{"role":"tool","content":[{"type":"text","text":1}]}])",
       "answered by messages[1]: text must be a string"},
      {R"({"messages":[{"role":"user"}],"tools":{"a":1}})", "tools must be a list"},
      {R"({"messages":[{"role":"user"}],"tools":[{"name":"f"}]})",
       "tools[0]: \"function\" must be an object"},
      {R"({"messages":[{"role":"user"}],"tools":[{"function":{"parameters":[1]}}]})",
       "\"parameters\" must be an object"},
      {R"({"messages":[{"role":"user"}],"tools":[{"function":{"parameters":{"properties":[1]}}}]})",
       "\"properties\" in a schema must be an object"},
      {R"({"messages":[{"role":"user"}],"tools":[{"function":{"parameters":{"required":true}}}]})",
       "\"required\" in a schema must be a list"},
  };
  for (const auto& [conversation, message] : kWrong) {
    INFO(conversation);
    const auto result = render_chat(conversation, plain());
    REQUIRE(result.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(result.status().message()), Contains(message));
  }
}

TEST_CASE("chat: depth and size are limited") {
  const auto with_arguments = [](size_t depth) {
    return R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"a":)" +
           std::string(depth, '[') + std::string(depth, ']') + "}}}]}]";
  };
  CHECK(render_chat(with_arguments(58), plain()).ok());
  CHECK_THAT(render(with_arguments(59)), Contains("deeper than 64"));
  CHECK_THAT(render(std::string((64 << 20) + 1, ' ')), Contains("at most 67108864"));
}

TEST_CASE("chat: many calls and answers take time in proportion") {
  // Every answer against every call would be 10^10 comparisons.
  std::string calls, answers;
  for (int i = 0; i < 100000; ++i) {
    calls += (i ? "," : "") + std::string(R"({"id":")") + std::to_string(i) + R"(","function":{"name":"f"}})";
    answers += R"(,{"role":"tool","tool_call_id":")" + std::to_string(99999 - i) + R"(","content":"x"})";
  }
  const std::string text = render(R"([{"role":"assistant","tool_calls":[)" + calls + "]}" + answers + "]");
  CHECK(text.ends_with("<tool_response|>"));
}

TEST_CASE("chat: the template of a file tells the variant") {
  CHECK(detect_chat_template("") == ChatTemplate::kPlain);
  CHECK(detect_chat_template("{{ messages }}") == ChatTemplate::kPlain);
  CHECK(detect_chat_template("{%- set ns = namespace(prev_message_type=None, last_user_message=-1) -%}") ==
        ChatTemplate::kInterleaved);
  const GgufInMemory file(read_file(golden_path("demo/g4-demo-f32.gguf")));
  CHECK(detect_chat_template(*file->get_string("tokenizer.chat_template")) == ChatTemplate::kPlain);
}

TEST_CASE("chat: the variants differ where they should") {
  const std::string tool_loop = R"([{"role":"user","content":"q"},
      {"role":"assistant","reasoning_content":"why","tool_calls":[{"id":"1","function":{"name":"f","arguments":{}}}]},
      {"role":"tool","tool_call_id":"1","content":"x"}])";
  CHECK_THAT(render(tool_loop, plain()),
             Contains("thought\nwhy\n<channel|><|tool_call>") && !Contains("<|turn>tool"));
  CHECK_THAT(render(tool_loop, interleaved()),
             Contains("thought\nwhy<channel|><|tool_call>") && Contains("<|turn>tool\nx<turn|>"));
}
