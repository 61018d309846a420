// What a KV type costs: the divergence of the demo model's predictions from those with float32 KV. docs/KV.md
// has the numbers.
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/session/open_session.h"
#include "text/chat_template.h"

namespace g4 {
namespace {
// The demo model's longest prompts.
std::vector<std::vector<int32_t>> long_prompts(const Tokenizer& tokenizer) {
  std::vector<std::vector<int32_t>> prompts;
  const nlohmann::json all = nlohmann::json::parse(read_file(golden_path("demo/expected.json")));
  for (const nlohmann::json& test : all["cases"]) {
    const std::string prompt = test["prompt"].get<std::string>();
    if (prompt.size() >= 600) prompts.push_back(*tokenizer.encode(prompt, true));
  }
  return prompts;
}

// KL(p || q) of the softmaxes of two rows of logits.
double divergence(std::span<const float> p, std::span<const float> q) {
  const auto log_sum = [](std::span<const float> x) {
    double sum = 0;
    for (const float value : x) sum += std::exp(double{value});
    return std::log(sum);
  };
  const double p_sum = log_sum(p), q_sum = log_sum(q);
  double total = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double log_p = double{p[i]} - p_sum;
    total += std::exp(log_p) * (log_p - (double{q[i]} - q_sum));
  }
  return total;
}
}  // namespace

TEST_CASE("KV in 16 and 8 bits hardly moves the predictions", "[demo][quality]") {
  const auto model = open_model("demo/g4-demo-f32.gguf");
  const size_t V = static_cast<size_t>(model->config().vocab_size);
  const std::vector<std::vector<int32_t>> prompts = long_prompts(*model->tokenizer());
  REQUIRE(prompts.size() >= 5);
  const auto logits_with = [&](KvType type, const std::vector<int32_t>& prompt) {
    SessionOptions options = exact_options();
    options.kv_type = type;
    return all_logits(*new_session(model, options), prompt);
  };
  const struct {
    KvType type;
    double mean, largest;
  } limits[] = {{KvType::kF16, 1e-6, 1e-4}, {KvType::kQ8_0, 5e-4, 1e-2}};
  for (const auto& limit : limits) {
    double sum = 0, largest = 0;
    size_t count = 0;
    for (const std::vector<int32_t>& prompt : prompts) {
      const std::vector<float> exact = logits_with(KvType::kF32, prompt),
                               got = logits_with(limit.type, prompt);
      for (size_t t = 0; t < prompt.size(); ++t) {
        const double kl = divergence(std::span(exact).subspan(t * V, V), std::span(got).subspan(t * V, V));
        sum += kl;
        largest = std::max(largest, kl);
        ++count;
      }
    }
    CAPTURE(static_cast<int>(limit.type), count, sum / static_cast<double>(count), largest);
    CHECK(sum / static_cast<double>(count) < limit.mean);
    CHECK(largest < limit.largest);
  }
}
}  // namespace g4
