// g4.hpp: what it adds to g4.h. What the functions compute is tested in tests/capi and below.
#include <algorithm>
#include <catch2/catch.hpp>
#include <g4/g4.hpp>
#include <numeric>
#include <string>

#include "tests/support/test_data.h"

namespace {
std::string model_path() { return g4::golden_path("tiny/e2b-tiny/model.gguf"); }

g4::Session open_model() {
  g4_session_options options = {};
  options.thread_count = 1;
  options.context_count = 256;
  return g4::Session::open(model_path(), options);
}

std::vector<int32_t> some_tokens(size_t count) {
  std::vector<int32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), 100);
  return tokens;
}

template <typename Call>
g4::Error error_of(Call call) {
  try {
    call();
  } catch (const g4::Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  return {G4_OK, ""};
}
}  // namespace

TEST_CASE("wrapper: an error carries the status and the message") {
  const g4::Error error = error_of([] { g4::Session::open("/no/such/model.gguf"); });
  CHECK(error.status() == G4_ERR_IO);
  CHECK(std::string(error.what()).find("/no/such/model.gguf") != std::string::npos);
  CHECK(error_of([] { g4::Tokenizer::open("/no/such/model.gguf"); }).status() == G4_ERR_IO);
  CHECK(error_of([] { g4::estimate("/no/such/model.gguf"); }).status() == G4_ERR_IO);
}

TEST_CASE("wrapper: results of any length come whole") {
  const g4::Tokenizer owner = g4::Tokenizer::open(model_path());
  const g4::TokenizerView tokenizer = owner;
  CHECK(tokenizer.vocab_count() > 0);
  CHECK(tokenizer.tokenize("").empty());
  std::string text;  // more ids than the first guess has room for: bytes without a token of their own
  for (int i = 0; i < 200; ++i) text += "\xf0\x9f\xa6\x8a";
  const std::vector<int32_t> tokens = tokenizer.tokenize(text);
  CHECK(tokens.size() > text.size() / 2 + 8);
  CHECK(tokenizer.detokenize(tokens) == text);
  CHECK(tokenizer.tokenize("a", G4_TOKENIZE_BOS).size() == tokenizer.tokenize("a").size() + 1);
  CHECK(error_of([&] { tokenizer.detokenize(std::vector<int32_t>{-1}); }).status() == G4_ERR_ARGUMENT);
}

TEST_CASE("wrapper: chat") {
  const g4::Tokenizer owner = g4::Tokenizer::open(model_path());
  const g4::TokenizerView tokenizer = owner.view();
  const std::string conversation = R"([{"role": "user", "content": "Hi"}])";
  CHECK(tokenizer.chat_render(conversation).starts_with("<bos><|turn>user\nHi<turn|>\n<|turn>model\n"));
  CHECK(tokenizer.chat_tokenize(conversation) ==
        tokenizer.tokenize(tokenizer.chat_render(conversation), G4_TOKENIZE_SPECIAL));
  g4_chat_options options = {};
  options.flags = G4_CHAT_NO_GENERATION_PROMPT;
  CHECK(tokenizer.chat_render(conversation, options) == "<bos><|turn>user\nHi<turn|>\n");
  CHECK(tokenizer.chat_parse(tokenizer.tokenize("Hello")).find("Hello") != std::string::npos);
  CHECK(error_of([&] { tokenizer.chat_tokenize("[{]"); }).status() == G4_ERR_ARGUMENT);
}

TEST_CASE("wrapper: a session moves and forks") {
  g4::Session first = open_model();
  g4::Session session = std::move(first);
  CHECK(first.get() == nullptr);
  CHECK(session.position() == 0);
  CHECK(error_of([&] { session.logits(); }).status() == G4_ERR_STATE);

  const std::vector<int32_t> tokens = some_tokens(5);
  session.prefill(tokens);
  CHECK(session.tokens() == tokens);
  g4::Session fork = session.fork();
  CHECK(std::ranges::equal(fork.logits(), session.logits()));
  g4_sampling greedy = {};
  greedy.flags = G4_SAMPLING_GREEDY;
  const int32_t next = session.sample(greedy);
  CHECK(session.position() == 5);
  CHECK(fork.decode(greedy) == next);
  CHECK(fork.position() == 6);
  session = std::move(fork);  // frees what it held
  CHECK(session.position() == 6);
  session.truncate(6);
  session.reset();
  CHECK(session.position() == 0);
}

TEST_CASE("wrapper: logits of all positions, and batches") {
  g4::Session session = open_model();
  const std::vector<int32_t> tokens = some_tokens(7);
  const std::vector<float> all = session.prefill_all(tokens);
  const size_t vocab_count = session.tokenizer().vocab_count();
  REQUIRE(all.size() == 7 * vocab_count);
  CHECK(std::ranges::equal(std::span(all).last(vocab_count), session.logits()));

  session.reset();
  g4::Session other = session.fork();
  g4::Session* const sessions[] = {&session, &other};
  const std::span<const int32_t> lists[] = {tokens, std::span(tokens).first(3)};
  g4::Session::prefill_batch(sessions, lists);
  CHECK(session.position() == 7);
  CHECK(other.position() == 3);
  CHECK_THROWS_AS(g4::Session::prefill_batch(sessions, std::span(lists).first(1)), std::invalid_argument);
}

TEST_CASE("wrapper: generation streams, stops and passes on what a callback throws") {
  g4::Session session = open_model();
  const std::vector<int32_t> prompt = some_tokens(4);
  g4_sampling greedy = {};  // without struct_size: filled in
  greedy.flags = G4_SAMPLING_GREEDY;
  g4_generate_options options = {};
  options.flags = G4_GENERATE_IGNORE_STOP;
  options.max_token_count = 6;
  options.sampling = &greedy;

  std::vector<int32_t> streamed;
  bool has_prefill_event = false;
  const g4_generate_result result = session.generate(prompt, options, [&](const g4_event& event) {
    has_prefill_event = has_prefill_event || event.kind == G4_EVENT_PREFILL;
    if (event.kind == G4_EVENT_TOKEN) streamed.push_back(event.token);
    return true;
  });
  CHECK(has_prefill_event);
  CHECK(result.finish_reason == G4_FINISH_LENGTH);
  CHECK(result.prompt_token_count == 4);
  CHECK(result.generated_token_count == 6);
  const std::vector<int32_t> held = session.tokens();
  REQUIRE(held.size() == 10);
  CHECK(std::ranges::equal(std::span(held).last(6), streamed));

  const auto stop_at_token = [](const g4_event& event) { return event.kind != G4_EVENT_TOKEN; };
  CHECK(session.generate({}, options, stop_at_token).finish_reason == G4_FINISH_CALLBACK);
  const auto fail_at_token = [](const g4_event& event) -> bool {
    if (event.kind == G4_EVENT_TOKEN) throw std::runtime_error("enough");
    return true;
  };
  CHECK_THROWS_WITH(session.generate({}, options, fail_at_token), "enough");
  CHECK(session.generate({}, options).generated_token_count == 6);  // still usable
}

TEST_CASE("wrapper: prefill and opening stop as their callbacks say") {
  const auto stop = [](const g4_event&) { return false; };
  const auto fail = [](const g4_event&) -> bool { throw std::runtime_error("enough"); };
  g4::Session session = open_model();
  CHECK(error_of([&] { session.prefill(some_tokens(4), stop); }).status() == G4_ERR_CANCELLED);
  CHECK(session.position() == 0);
  CHECK_THROWS_WITH(session.prefill(some_tokens(4), fail), "enough");
  session.cancel();  // nothing runs: nothing happens
  session.prefill(some_tokens(4));
  CHECK(session.position() == 4);
  CHECK(error_of([&] { g4::Session::open(model_path(), {}, stop); }).status() == G4_ERR_CANCELLED);
  CHECK_THROWS_WITH(g4::Session::open(model_path(), {}, fail), "enough");
}

TEST_CASE("wrapper: information") {
  g4::Session session = open_model();
  const g4_info info = session.info();
  CHECK(info.context_count == 256);
  CHECK(session.layer_rows().size() == info.layer_count);
  CHECK(session.kv_layer(info.layer_count - 1).source_layer < info.layer_count);
  CHECK(error_of([&] { session.kv_layer(info.layer_count); }).status() == G4_ERR_ARGUMENT);
  session.prefill(some_tokens(3));
  CHECK(session.stats().prefill_token_count == 3);
  CHECK(session.rewind_min() == 0);
  CHECK(g4::estimate(model_path()).weights_bytes == info.weights_bytes);
}
