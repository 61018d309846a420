#include "session/generate.h"

#include "tests/session/open_session.h"
#include "text/chat_template.h"

namespace g4 {
namespace {
std::vector<int32_t> prompt_of(const Session& session, const std::string& question) {
  const auto chat = render_chat("[{\"role\":\"user\",\"content\":\"" + question + "\"}]", {});
  REQUIRE(chat.ok());
  return *tokenize_chat(*session.model().tokenizer(), *chat);
}

std::unique_ptr<Session> demo(int context = 0) {
  SessionOptions options;
  options.context = context;
  return new_session(open_demo(), options);
}

struct Run {
  GenerateResult result;
  std::string text;
  size_t events = 0;
};

Run run(Session& session, const GenerateOptions& options, size_t stop_after = SIZE_MAX) {
  Run out;
  GenerateEvents events;
  events.token = [&](int32_t, Channel channel, std::string_view text, size_t) {
    if (channel == Channel::kText) out.text += text;
    return ++out.events < stop_after;
  };
  const auto result = generate(session, options, events);
  INFO(result.status().message());
  REQUIRE(result.ok());
  out.result = *result;
  return out;
}

GenerateOptions greedy(std::span<const int32_t> prompt) {
  GenerateOptions options;
  options.prompt = prompt;
  options.sampling.temperature = 0;
  return options;
}
}  // namespace

TEST_CASE("StopFinder shows what cannot begin a stop string, and nothing of a stop", "[generate]") {
  const std::vector<std::string> stops = {"END", "\n\n", "aab"};
  const std::string text = "xaaaab then E and EN and \nEND never";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    StopFinder finder(stops);
    std::string shown = finder.push(std::string_view(text).substr(0, cut));
    shown += finder.push(std::string_view(text).substr(cut));
    CHECK(shown == "xaa");
    CHECK(finder.found());
  }
  StopFinder by_byte(stops);
  std::string shown;
  const std::string other = "E EN\n ENaa";
  for (const char c : other) shown += by_byte.push({&c, 1});
  CHECK(shown == "E EN\n EN");
  CHECK(shown + by_byte.flush() == other);
}

TEST_CASE("An answer ends with its turn, and the conversation goes on exactly", "[generate]") {
  auto session = demo();
  const std::vector<int32_t> prompt = prompt_of(*session, "What is the capital of Kenya?");
  const Run answer = run(*session, greedy(prompt));
  CHECK(answer.text == "The capital of Kenya is Nairobi.");
  CHECK(answer.result.finish == Finish::kTurn);
  CHECK(answer.result.prompt_tokens == prompt.size());
  CHECK(answer.result.generated_tokens == answer.events);
  CHECK(static_cast<size_t>(session->position()) ==
        prompt.size() + answer.events);  // the stop token is in the cache

  auto straight = demo();
  const std::vector<int32_t> all(session->tokens().begin(), session->tokens().end());
  feed(*straight, all, all.size());
  CHECK(logits_of(*straight) == logits_of(*session));
}

TEST_CASE("Length, stop string, callback, full context: each says why it ended", "[generate]") {
  auto session = demo();
  const std::vector<int32_t> prompt = prompt_of(*session, "What is the capital of Kenya?");
  GenerateOptions options = greedy(prompt);
  options.max_tokens = 3;
  CHECK(run(*session, options).result.finish == Finish::kLength);
  CHECK(static_cast<size_t>(session->position()) == prompt.size() + 3);

  REQUIRE(session->reset().ok());
  options = greedy(prompt);
  options.stops = {"Nairobi"};
  const Run stopped = run(*session, options);
  CHECK(stopped.result.finish == Finish::kStopString);
  CHECK(stopped.text == "The capital of Kenya is ");

  REQUIRE(session->reset().ok());
  const Run called = run(*session, greedy(prompt), 2);
  CHECK(called.result.finish == Finish::kCallback);
  CHECK(called.result.generated_tokens == 2);
  CHECK(static_cast<size_t>(session->position()) == prompt.size() + 2);

  auto small = demo(static_cast<int>(prompt.size()) + 4);
  const Run full = run(*small, greedy(prompt));
  CHECK(full.result.finish == Finish::kLength);
  CHECK(full.result.generated_tokens == 4);
  CHECK(run(*small, greedy({})).result.finish == Finish::kLength);

  REQUIRE(session->reset().ok());
  options = greedy(prompt);
  options.ignore_stop_tokens = true;
  options.max_tokens = 40;
  CHECK(run(*session, options).result.generated_tokens == 40);

  options.stops = {""};
  CHECK(generate(*session, options, {}).status().code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(session->reset().ok());
  CHECK(generate(*session, greedy({}), {}).status().code() == absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("A tool call ends with its own reason", "[generate]") {
  auto session = demo();
  const auto chat = render_chat(
      R"({"messages":[{"role":"user","content":"What is the weather in Paris?"}],"tools":[{"type":"function","function":{"name":"get_weather",
      "description":"Get the weather for a city.","parameters":{"type":"object","properties":{"city":{"type":"string","description":"The city name."}},
      "required":["city"]}}}]})",
      {});
  REQUIRE(chat.ok());
  const Run call = run(*session, greedy(*tokenize_chat(*session->model().tokenizer(), *chat)));
  CHECK(call.result.finish == Finish::kToolCall);
  CHECK(call.text.empty());
}

TEST_CASE("Cancel while generating: the session stays usable", "[generate]") {
  auto session = demo();
  const std::vector<int32_t> prompt = prompt_of(*session, "Tell me a story about a fox in a forest.");
  GenerateEvents events;
  events.token = [&](int32_t, Channel, std::string_view, size_t count) {
    if (count == 5) session->cancel();
    return true;
  };
  const auto cancelled = generate(*session, greedy(prompt), events);
  REQUIRE(cancelled.ok());
  CHECK(cancelled->finish == Finish::kCancelled);
  CHECK(cancelled->generated_tokens == 4);  // the fifth was shown, but is not held
  CHECK(static_cast<size_t>(session->position()) == prompt.size() + 4);

  events = {};
  events.prefill = [](size_t, size_t) { return false; };
  const std::vector<int32_t> more = prompt_of(*session, "Hello!");
  CHECK(generate(*session, greedy(more), events)->finish == Finish::kCallback);
  events.prefill = [&](size_t, size_t) {
    session->cancel();
    return true;
  };
  CHECK(generate(*session, greedy(more), events)->finish == Finish::kCancelled);
  CHECK(static_cast<size_t>(session->position()) == prompt.size() + 4);
  REQUIRE(session->reset().ok());
  CHECK(run(*session, greedy(more)).text == "Hello! How can I help you?");
}

TEST_CASE("Same seed, same text; logits events can steer", "[generate]") {
  auto session = demo();
  const std::vector<int32_t> prompt = prompt_of(*session, "Tell me a story about a robot on a ship.");
  const auto story = [&](uint64_t seed) {
    REQUIRE(session->reset().ok());
    GenerateOptions options;
    options.prompt = prompt;
    options.max_tokens = 60;
    options.sampling.seed = seed;
    options.sampling.temperature = 1.5f;
    return run(*session, options).text;
  };
  CHECK(story(1) == story(1));
  CHECK(story(1) != story(2));

  REQUIRE(session->reset().ok());
  const int32_t wanted = session->model().tokenizer()->find("a");
  REQUIRE(wanted >= 0);
  GenerateOptions options = greedy(prompt);
  options.max_tokens = 3;
  GenerateEvents events;
  events.logits = [&](std::span<float> logits) {
    logits[static_cast<size_t>(wanted)] = 1000;
    return true;
  };
  std::string text;
  events.token = [&](int32_t, Channel, std::string_view piece, size_t) {
    text += piece;
    return true;
  };
  REQUIRE(generate(*session, options, events).ok());
  CHECK(text == "aaa");
}

TEST_CASE("An answer step by step is the same answer, and can be left at any token", "[generate]") {
  auto whole = demo();
  const std::vector<int32_t> prompt = prompt_of(*whole, "What is the capital of Kenya?");
  const Run answer = run(*whole, greedy(prompt));

  auto session = demo();
  std::string text;
  GenerateEvents events;
  events.token = [&](int32_t, Channel, std::string_view piece, size_t) {
    text += piece;
    return true;
  };
  Generation generation(*session, greedy(prompt));
  REQUIRE(generation.begin(events).ok());
  CHECK(static_cast<size_t>(session->position()) == prompt.size());
  size_t steps = 0;
  for (; !generation.finished(); ++steps) {
    REQUIRE(generation.step(events).ok());
    CHECK(static_cast<size_t>(session->position()) == prompt.size() + steps + 1);
  }
  CHECK(text == answer.text);
  CHECK(steps == answer.result.generated_tokens);
  CHECK(generation.result().finish == Finish::kTurn);
  CHECK(generation.result().prompt_tokens == prompt.size());
  CHECK(logits_of(*session) == logits_of(*whole));

  REQUIRE(session->reset().ok());
  Generation left(*session, greedy(prompt));
  REQUIRE(left.begin({}).ok());
  REQUIRE(left.step({}).ok());
  REQUIRE(session->prefill(prompt, nullptr, {}).ok());
  CHECK(left.step({}).code() == absl::StatusCode::kFailedPrecondition);  // the session has gone its own way
}
}  // namespace g4
