// What int8 activations cost: the divergence of the predictions from those with float32 activations.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/session/open_session.h"

namespace g4 {
namespace {
// log softmax, in double.
std::vector<double> log_probabilities(std::span<const float> logits) {
  const double top = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - top);
  std::vector<double> out;
  for (const float logit : logits) out.push_back(static_cast<double>(logit) - top - std::log(sum));
  return out;
}

double divergence(std::span<const float> exact, std::span<const float> approximate) {
  const std::vector<double> p = log_probabilities(exact), q = log_probabilities(approximate);
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) sum += std::exp(p[i]) * (p[i] - q[i]);
  return sum;
}
}  // namespace

TEST_CASE("int8 activations: mean KL divergence below 1e-3 on the demo model's long prompts", "[demo]") {
  const auto model = open_demo();
  SessionOptions exact, fast;
  exact.precision = Precision::kF32;
  auto reference = new_session(model, exact), session = new_session(model, fast);
  const size_t V = static_cast<size_t>(model->config().vocab_size);
  double sum = 0, largest = 0;
  size_t positions = 0;
  const auto all = nlohmann::json::parse(read_file(golden_path("demo/expected.json")));
  for (const auto& test : all["cases"]) {
    const auto prompt = test["prompt_ids"].get<std::vector<int32_t>>();
    if (test.contains("image") || test.contains("audio") || prompt.size() < 120) continue;
    REQUIRE(reference->reset().ok());
    REQUIRE(session->reset().ok());
    const std::vector<float> expected = all_logits(*reference, prompt), got = all_logits(*session, prompt);
    for (size_t t = 0; t < prompt.size(); ++t, ++positions) {
      const double kl = divergence({&expected[t * V], V}, {&got[t * V], V});
      sum += kl;
      largest = std::max(largest, kl);
    }
  }
  CAPTURE(positions, largest);
  REQUIRE(positions > 1000);
  CHECK(sum / static_cast<double>(positions) < 1e-3);
  CHECK(sum > 0);  // or the two are the same arithmetic
}
}  // namespace g4
