// The network against the reference implementation: full logits at every position, hidden states, routing,
// greedy tokens.
#include <algorithm>
#include <cmath>
#include <map>

#include "tests/session/open_session.h"
#include "tests/support/safetensors.h"

namespace g4 {
namespace {
// The largest difference relative to the largest reference value.
double relative_error(std::span<const float> got, std::span<const float> expected) {
  REQUIRE(got.size() == expected.size());
  double difference = 0, largest = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    REQUIRE(std::isfinite(got[i]));
    difference =
        std::max(difference, std::fabs(static_cast<double>(got[i]) - static_cast<double>(expected[i])));
    largest = std::max(largest, std::fabs(static_cast<double>(expected[i])));
  }
  return difference / largest;
}

std::string goldens(const std::string& model) {
  return golden_path("tiny/" + model + "/goldens.safetensors");
}

// The root mean square of the differences, relative to the largest reference value.
double typical_error(std::span<const float> got, std::span<const float> expected) {
  double sum = 0, largest = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double difference = static_cast<double>(got[i]) - static_cast<double>(expected[i]);
    sum += difference * difference;
    largest = std::max(largest, std::fabs(static_cast<double>(expected[i])));
  }
  return std::sqrt(sum / static_cast<double>(got.size())) / largest;
}

void softmax(std::span<float> x) {
  float sum = 0;
  for (float& value : x) sum += value = std::exp(value);
  for (float& value : x) value /= sum;
}

void check_greedy(Session& session, std::span<const int32_t> prompt, std::span<const int32_t> expected) {
  SamplingOptions greedy;
  greedy.temperature = 0;
  REQUIRE(session.reset().ok());
  feed(session, prompt, prompt.size());
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < expected.size(); ++i) tokens.push_back(*session.decode(greedy));
  CHECK(tokens == std::vector<int32_t>(expected.begin(), expected.end()));
}
}  // namespace

TEST_CASE("F32 models give the reference's logits at every position, for any chunking and threads",
          "[golden]") {
  for (const std::string& name : kTinyModels) {
    const Safetensors golden(goldens(name));
    const auto model = open_model("tiny/" + name + "/model.gguf");
    for (const std::string prompt : {"prompt7", "prompt100"}) {
      const std::span<const int32_t> ids = golden[prompt + ".ids"].values<int32_t>();
      const std::span<const float> expected = golden[prompt + ".logits"].values<float>();
      for (const int chunk : {1, 3, 16, 512}) {
        for (const int threads : {1, 2}) {
          SessionOptions options = exact_options();
          options.chunk = chunk;
          options.thread_count = threads;
          auto session = new_session(model, options);
          INFO(name << " " << prompt << " chunk " << chunk << " threads " << threads);
          CHECK(relative_error(all_logits(*session, ids), expected) < 2e-4);
          check_greedy(*session, ids, golden[prompt + ".greedy"].values<int32_t>());
        }
      }
    }
  }
}

TEST_CASE("Every kernel row gives the reference's logits", "[golden]") {
  size_t count = 0;
  const Kernels* const* rows = kernel_rows(&count);
  for (size_t i = 0; i < count; ++i) {
    for (const std::string& name : kTinyModels) {
      const Safetensors golden(goldens(name));
      ModelOptions options;
      options.cpu = rows[i]->name;
      auto model = Model::open(golden_path("tiny/" + name + "/model.gguf"), options, {});
      if (!model.ok()) continue;  // not on this machine
      INFO(name << " " << rows[i]->name);
      auto session = new_session(*model, exact_options());
      CHECK(relative_error(all_logits(*session, golden["prompt100.ids"].values<int32_t>()),
                           golden["prompt100.logits"].values<float>()) < 2e-4);
    }
  }
}

TEST_CASE("Hidden states, embeddings and routing agree layer by layer", "[golden]") {
  for (const std::string& name : kTinyModels) {
    const Safetensors golden(goldens(name));
    auto session = open_tiny(name);
    std::map<std::string, std::vector<float>> taps;
    session->set_tap([&](std::string_view tap, int layer, const float* values, size_t rows, size_t cols) {
      auto& list = taps[std::string(tap)];
      REQUIRE((layer < 0 || list.size() == static_cast<size_t>(layer) * rows * cols));
      list.insert(list.end(), values, values + rows * cols);
    });
    all_logits(*session, golden["prompt7.ids"].values<int32_t>());
    INFO(name);
    CHECK(relative_error(taps["layer"], golden["prompt7.hidden"].values<float>()) < 1e-4);
    CHECK(relative_error(taps["final_norm"], golden["prompt7.final_norm"].values<float>()) < 1e-4);
    if (golden.has("prompt7.embed")) {
      CHECK(relative_error(taps["embed"], golden["prompt7.embed"].values<float>()) < 1e-6);
      CHECK(relative_error(taps["ple"], golden["prompt7.ple_combined"].values<float>()) < 1e-5);
    }
    if (golden.has("prompt7.router_probs")) {
      std::vector<float>& scores = taps["router"];
      for (size_t i = 0; i < scores.size(); i += 8) softmax({&scores[i], 8});
      CHECK(relative_error(scores, golden["prompt7.router_probs"].values<float>()) < 1e-4);
    }
  }
}

// Weights decoded exactly, activations in float32: the only difference to the reference is the order of sums.
// With int8 activations each activation is off by up to 1/254 of its block's largest. These random networks
// amplify that to a typical error of about 1 % of the largest logit, and 6 % at worst: the bounds are 2 % and
// 10 %. What a block of products is off by is tested exactly in tests/kernels; trained networks amplify far
// less (the demo model gives the same text).
TEST_CASE("Quantised models: exact with float32 activations, within their own arithmetic with int8",
          "[golden]") {
  const Safetensors golden(goldens("quant-tiny"));
  for (const std::string type :
       {"F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q4_K", "Q5_K", "Q6_K", "MIX"}) {
    const auto model = open_model("tiny/quant-tiny/model-" + type + ".gguf");
    for (const std::string prompt : {"prompt7", "prompt40"}) {
      const std::span<const int32_t> ids = golden[type + "." + prompt + ".ids"].values<int32_t>();
      const std::span<const float> expected = golden[type + "." + prompt + ".logits"].values<float>();
      INFO(type << " " << prompt);
      auto exact = new_session(model, exact_options());
      CHECK(relative_error(all_logits(*exact, ids), expected) < 2e-4);
      if (prompt == "prompt7") check_greedy(*exact, ids, golden[type + ".prompt7.greedy"].values<int32_t>());

      SessionOptions int8;
      int8.thread_count = 1;
      auto fast = new_session(model, int8);
      const std::vector<float> approximate = all_logits(*fast, ids);
      CHECK(relative_error(approximate, expected) < 0.1);
      CHECK(typical_error(approximate, expected) < 0.02);
    }
  }
}

TEST_CASE("The PLE table in a file of its own, by mapping or plain reads: the same logits", "[golden]") {
  const Safetensors golden(goldens("e2b-tiny"));
  const std::span<const int32_t> ids = golden["prompt7.ids"].values<int32_t>();
  ModelOptions options;
  const auto logits = [&] {
    auto session = new_session(open_model("tiny/e2b-tiny/model.gguf", options), exact_options());
    return all_logits(*session, ids);
  };
  const std::vector<float> expected = logits();
  options.ple_mode = DiskEmbedding::Mode::kRead;
  CHECK(logits() == expected);
  options.ple_path = golden_path("tiny/e2b-tiny/model.gguf");
  CHECK(logits() == expected);
}
}  // namespace g4
