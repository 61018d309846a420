#include "session/sampler.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>

namespace g4 {
namespace {
constexpr float kInfinity = std::numeric_limits<float>::infinity();
const std::vector<float> kLogits = {0.5f, 3.0f, 2.5f, -1.0f, 2.9f, 0.0f, -kInfinity, 1.0f};

SamplingOptions plain() {
  SamplingOptions options;
  options.top_k = 0;
  options.top_p = 1;
  return options;
}

// How often each token comes up over many positions.
std::map<int32_t, double> frequencies(const std::vector<float>& logits, SamplingOptions options,
                                      const std::vector<int32_t>& history = {},
                                      const std::vector<int32_t>& generated = {}) {
  REQUIRE(check_sampling(options, logits.size()).ok());
  Sampler sampler(logits.size());
  std::map<int32_t, double> seen;
  constexpr int kDraws = 20000;
  for (uint64_t position = 0; position < kDraws; ++position)
    seen[sampler.pick(logits, history, generated, position, options)] += 1.0 / kDraws;
  return seen;
}

std::map<int32_t, double> softmax(const std::vector<float>& logits, double temperature) {
  double total = 0;
  for (const float x : logits) total += std::exp(static_cast<double>(x) / temperature);
  std::map<int32_t, double> p;
  for (size_t i = 0; i < logits.size(); ++i)
    p[static_cast<int32_t>(i)] = std::exp(static_cast<double>(logits[i]) / temperature) / total;
  return p;
}
}  // namespace

TEST_CASE("Greedy takes the best token, the lowest id among equals, and survives NaN", "[sampler]") {
  SamplingOptions greedy = plain();
  greedy.temperature = 0;
  Sampler sampler(4);
  const auto pick = [&](std::vector<float> logits) { return sampler.pick(logits, {}, {}, 0, greedy); };
  CHECK(pick({0, 2, 1, 2}) == 1);
  CHECK(pick({NAN, -5, NAN, -6}) == 1);
  CHECK(pick({-kInfinity, -kInfinity, -kInfinity, -kInfinity}) == 0);
  CHECK(pick({0, kInfinity, 1, 2}) == 1);
}

TEST_CASE("Draws follow the softmax at each temperature", "[sampler]") {
  for (const float temperature : {0.5f, 1.0f, 2.0f}) {
    SamplingOptions options = plain();
    options.temperature = temperature;
    const auto seen = frequencies(kLogits, options);
    for (const auto& [token, p] : softmax(kLogits, static_cast<double>(temperature))) {
      INFO("temperature " << temperature << " token " << token);
      CHECK((seen.count(token) ? seen.at(token) : 0) == Approx(p).margin(0.012));
    }
  }
}

TEST_CASE("Same seed and position, same token; another seed, other tokens", "[sampler]") {
  SamplingOptions options = plain();
  Sampler a(kLogits.size()), b(kLogits.size());
  int differs = 0;
  for (uint64_t position = 0; position < 200; ++position) {
    options.seed = 7;
    const int32_t token = a.pick(kLogits, {}, {}, position, options);
    CHECK(token == b.pick(kLogits, {}, {}, position, options));
    options.seed = 8;
    differs += token != b.pick(kLogits, {}, {}, position, options);
  }
  CHECK(differs > 50);
}

TEST_CASE("top-k, top-p and min-p leave out exactly the tokens they should", "[sampler]") {
  SamplingOptions options = plain();
  const auto tokens = [&] {
    std::vector<int32_t> list;
    for (const auto& [token, p] : frequencies(kLogits, options)) list.push_back(token);
    return list;
  };
  options.top_k = 3;
  CHECK(tokens() == std::vector<int32_t>{1, 2, 4});
  options.top_k = 1;
  CHECK(tokens() == std::vector<int32_t>{1});
  options.top_k = 1000;
  CHECK(tokens().size() == 7);  // the token at -inf never
  options = plain();
  // Probabilities, best first: 1: .35, 4: .32, 2: .21, 7: .05, ...
  options.top_p = 0.5f;
  CHECK(tokens() == std::vector<int32_t>{1, 4});
  options.top_p = 0.3f;
  CHECK(tokens() == std::vector<int32_t>{1});
  options.top_p = 0.85f;
  CHECK(tokens() == std::vector<int32_t>{1, 2, 4});
  options = plain();
  options.min_p = 0.5f;
  CHECK(tokens() == std::vector<int32_t>{1, 2, 4});
  options.min_p = 0.95f;
  CHECK(tokens() == std::vector<int32_t>{1});
}

TEST_CASE("Penalties and biases", "[sampler]") {
  SamplingOptions greedy = plain();
  greedy.temperature = 0;
  Sampler sampler(kLogits.size());
  const auto pick = [&](std::vector<int32_t> seen) { return sampler.pick(kLogits, seen, seen, 0, greedy); };
  greedy.repetition_penalty = 1.2f;  // 3.0 / 1.2 = 2.5, once however often it was seen
  CHECK(pick({1, 1, 1}) == 4);
  CHECK(pick({1, 4, 1}) == 1);  // 2.5, 2.42 and, untouched, 2.5: the lowest id among equals
  greedy.repetition_penalty = 1;
  greedy.presence_penalty = 0.3f;  // 2.7 < 2.9
  CHECK(pick({1}) == 4);
  CHECK(pick({1, 1, 1, 4}) == 1);  // presence does not count occurrences
  greedy.presence_penalty = 0;
  greedy.frequency_penalty = 0.3f;
  CHECK(pick({1, 1, 4}) == 4);  // 2.4, 2.6 and 2.5
  greedy.frequency_penalty = 0;
  greedy.bias = {{1, -kInfinity}, {3, 100}};
  CHECK(pick({}) == 3);
  greedy.bias = {{1, -kInfinity}};
  CHECK(pick({}) == 4);
  greedy.bias = {{6, 1000}};  // a token at -inf stays there
  CHECK(pick({}) == 1);
  CHECK(sampler.pick(kLogits, {}, {}, 0, plain()) ==
        sampler.pick(kLogits, {}, {}, 0, plain()));  // nothing lingers
}

TEST_CASE("Sampling options out of range are refused by name", "[sampler]") {
  const auto message = [](auto change) {
    SamplingOptions options;
    change(options);
    return std::string(check_sampling(options, 10).message());
  };
  CHECK(message([](auto&) {}) == "");
  CHECK_THAT(message([](auto& o) { o.temperature = -1; }), Catch::Contains("temperature is -1"));
  CHECK_THAT(message([](auto& o) { o.temperature = NAN; }), Catch::Contains("temperature"));
  CHECK_THAT(message([](auto& o) { o.top_k = -2; }), Catch::Contains("top_k is -2"));
  CHECK_THAT(message([](auto& o) { o.top_p = 0; }), Catch::Contains("top_p"));
  CHECK_THAT(message([](auto& o) { o.top_p = 1.1f; }), Catch::Contains("top_p"));
  CHECK_THAT(message([](auto& o) { o.min_p = 1; }), Catch::Contains("min_p"));
  CHECK_THAT(message([](auto& o) { o.repetition_penalty = 0; }), Catch::Contains("repetition_penalty"));
  CHECK_THAT(message([](auto& o) { o.presence_penalty = kInfinity; }), Catch::Contains("presence_penalty"));
  CHECK_THAT(message([](auto& o) { o.frequency_penalty = NAN; }), Catch::Contains("frequency_penalty"));
  CHECK_THAT(message([](auto& o) { o.bias = {{10, 0}}; }), Catch::Contains("token 10"));
  CHECK_THAT(message([](auto& o) { o.bias = {{-1, 0}}; }), Catch::Contains("token -1"));
  CHECK_THAT(message([](auto& o) { o.bias = {{1, NAN}}; }), Catch::Contains("token 1"));
}
}  // namespace g4
