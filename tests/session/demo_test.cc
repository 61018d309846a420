// The demo model's expected answers, text part.
#include <nlohmann/json.hpp>

#include "session/generate.h"
#include "tests/session/open_session.h"
#include "text/chat_template.h"

namespace g4 {
namespace {
using nlohmann::json;

struct Answer {
  std::vector<int32_t> tokens;
  std::string text;
};

Answer answer(Session& session, const std::vector<int32_t>& prompt) {
  GenerateOptions options;
  options.prompt = prompt;
  options.max_tokens = 400;
  options.sampling.temperature = 0;
  Answer out;
  GenerateEvents events;
  events.token = [&](int32_t token, Channel, std::string_view, size_t) {
    out.tokens.push_back(token);
    session.model().tokenizer()->append_piece(token, false, &out.text);
    return true;
  };
  REQUIRE(session.reset().ok());
  const auto result = generate(session, options, events);
  INFO(result.status().message());
  REQUIRE(result.ok());
  CHECK(result->generated_tokens == out.tokens.size());
  return out;
}

std::vector<int32_t> prompt_ids(const Session& session, const json& test) {
  json conversation = {{"messages", test["messages"]}};
  if (test.contains("tools")) conversation["tools"] = test["tools"];
  const auto chat = render_chat(conversation.dump(), {});
  INFO(chat.status().message());
  REQUIRE(chat.ok());
  CHECK(chat->text == test["prompt"].get<std::string>());
  const auto ids = tokenize_chat(*session.model().tokenizer(), *chat);
  REQUIRE(ids.ok());
  return *ids;
}

std::vector<json> text_cases() {
  const json all = json::parse(read_file(golden_path("demo/expected.json")));
  std::vector<json> cases;
  for (const json& test : all["cases"])
    if (!test.contains("image") && !test.contains("audio")) cases.push_back(test);
  REQUIRE(cases.size() == 39);
  return cases;
}
}  // namespace

TEST_CASE("The demo model in F32 answers token for token as the reference does", "[demo]") {
  auto session = new_session(open_model("demo/g4-demo-f32.gguf"), exact_options());
  for (const json& test : text_cases()) {
    INFO(test["id"].get<std::string>());
    const std::vector<int32_t> prompt = prompt_ids(*session, test);
    REQUIRE(prompt == test["prompt_ids"].get<std::vector<int32_t>>());
    CHECK(answer(*session, prompt).tokens == test["answer_ids"].get<std::vector<int32_t>>());
  }
}

TEST_CASE("The demo model in Q8_0, with default options, gives the same text but for the stories", "[demo]") {
  auto session = new_session(open_demo(), {});
  int stories = 0;
  for (const json& test : text_cases()) {
    if (test["skill"] == "story") {
      ++stories;  // near-ties: any small change of the arithmetic takes another turn
      continue;
    }
    INFO(test["id"].get<std::string>());
    const std::vector<int32_t> prompt = prompt_ids(*session, test);
    CHECK(answer(*session, prompt).tokens == test["answer_ids"].get<std::vector<int32_t>>());
  }
  CHECK(stories == 3);
}
}  // namespace g4
