#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "tests/kernels/kernel_test.h"

namespace g4 {
namespace {
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

double relative_error(float value, double expected) {
  return std::abs(static_cast<double>(value) - expected) / std::max(std::abs(expected), 1e-30);
}

TEST_CASE("quantize_row rounds to the nearest of 255 steps, alike on every row", "[kernels]") {
  Random random(1);
  const size_t K = 32 * 12;
  std::vector<float> x = random.normals(K);
  const auto block = [&](size_t b) { return x.data() + 32 * b; };
  std::fill_n(block(1), 32, 0.0f);
  for (size_t i = 0; i < 32; ++i)
    block(2)[i] = static_cast<float>(i) - 15.5f;  // ties after scaling by 127 / 127
  block(2)[31] = 127.0f;
  for (size_t i = 0; i < 32; ++i) block(3)[i] *= 1e30f;
  for (size_t i = 0; i < 32; ++i) block(4)[i] *= 1e-28f;
  for (size_t i = 0; i < 32; ++i) block(5)[i] *= 1e-40f;  // subnormal
  std::fill_n(block(6), 32, -3.0f);

  const Quantised expected(generic_kernels(), x, 1, K);
  for (size_t b = 0; b < K / 32; ++b) {
    int sum = 0;
    const float largest = std::abs(*std::max_element(
        block(b), block(b) + 32, [](float p, float q) { return std::abs(p) < std::abs(q); }));
    CAPTURE(b, largest);
    const bool zero = largest < 1e-30f;
    CHECK(expected.scale[b] == (zero ? 0.0f : largest / 127.0f));
    for (size_t i = 32 * b; i < 32 * b + 32; ++i) {
      const double exact = zero ? 0.0 : static_cast<double>(x[i]) * 127 / static_cast<double>(largest);
      REQUIRE(std::abs(expected.q[i] - exact) <= 0.50001);
      sum += expected.q[i];
    }
    CHECK(expected.sum[b] == expected.scale[b] * static_cast<float>(sum));
  }
  CHECK(expected.q[32 * 2] == -16);  // -15.5: to even
  CHECK(expected.q[32 * 2 + 1] == -14);
  CHECK(expected.q[32 * 6] == -127);
  for (const Kernels* row : runnable_rows()) {
    const Quantised actual(*row, x, 1, K);
    CAPTURE(row->name);
    CHECK(actual.q == expected.q);
    CHECK(same_bits(actual.scale, expected.scale));
    CHECK(same_bits(actual.sum, expected.sum));
  }
}

TEST_CASE("to_words rounds to the nearest word, alike on every row", "[kernels]") {
  Random random(9);
  const size_t blocks = 6, K = blocks * kWordBlock - 5;
  std::vector<float> x = random.normals(blocks * kWordBlock);
  const auto block = [&](size_t b) { return x.data() + kWordBlock * b; };
  std::fill_n(block(1), kWordBlock, 0.0f);
  for (size_t i = 0; i < kWordBlock; ++i) block(2)[i] *= 1e30f;
  for (size_t i = 0; i < kWordBlock; ++i) block(3)[i] *= 1e-40f;                        // subnormal
  for (size_t i = 0; i < kWordBlock; ++i) block(4)[i] = static_cast<float>(i) - 63.5f;  // ties
  block(4)[kWordBlock - 1] = -float{kMaxWord};
  std::fill_n(block(5), kWordBlock, -3.0f);
  x.resize(K);
  const std::vector<WordBlock> expected = as_words(generic_kernels(), x, 1, K);
  for (size_t b = 0; b < blocks; ++b) {
    const size_t count = std::min(kWordBlock, K - b * kWordBlock);
    float largest = 0;
    for (size_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(block(b)[i]));
    const bool zero = largest < 1e-30f;
    CAPTURE(b, largest);
    CHECK(expected[b].scale == (zero ? 0.0f : largest / kMaxWord));
    for (size_t i = 0; i < kWordBlock; ++i) {
      const double value = i < count && !zero ? static_cast<double>(block(b)[i]) : 0.0;
      REQUIRE(std::abs(expected[b].q[i] - (zero ? 0 : value * kMaxWord / static_cast<double>(largest))) <=
              0.501);
    }
  }
  CHECK(expected[4].q[0] == -64);  // -63.5: to even
  CHECK(expected[4].q[1] == -62);
  CHECK(expected[5].q[0] == -kMaxWord);
  CHECK(expected[5].q[kWordBlock - 1] == 0);  // filled up
  for (const Kernels* row : runnable_rows()) {
    if (row->matmul_words == nullptr) continue;
    CAPTURE(row->name);
    CHECK(std::memcmp(as_words(*row, x, 1, K).data(), expected.data(), blocks * sizeof(WordBlock)) == 0);
  }
}

TEST_CASE("quantize_row and to_words let infinity and NaN through in the scale", "[kernels]") {
  for (const Kernels* row : runnable_rows()) {
    for (const float bad : {kInfinity, -kInfinity, kNaN, -kNaN}) {
      for (size_t at = 0; at < 32; ++at) {
        std::vector<float> x(32, 1.0f);
        x[at] = bad;
        const Quantised quantised(*row, x, 1, 32);
        CAPTURE(row->name, bad, at);
        REQUIRE_FALSE(std::isfinite(quantised.scale[0]));
        REQUIRE(std::isnan(quantised.scale[0]) == std::isnan(bad));
        REQUIRE(std::all_of(quantised.q.begin(), quantised.q.end(), [](int8_t q) { return q >= -127; }));
        if (row->matmul_words == nullptr) continue;
        const WordBlock words = as_words(*row, x, 1, 32)[0];
        REQUIRE_FALSE(std::isfinite(words.scale));
        REQUIRE(std::isnan(words.scale) == std::isnan(bad));
        for (const int16_t q : words.q) REQUIRE(std::abs(q) <= kMaxWord);
      }
    }
  }
}

TEST_CASE("rms_norm of every length, in place and not, with and without weight", "[kernels]") {
  Random random(2);
  std::vector<size_t> sizes = {256, 1536, 5376};
  for (size_t n = 1; n <= 70; ++n) sizes.push_back(n);
  for (const Kernels* row : runnable_rows()) {
    for (const size_t n : sizes) {
      for (const bool weighted : {false, true}) {
        const std::vector<float> x = random.normals(n, 3), w = random.normals(n);
        double squares = 0;
        for (const float value : x) squares += static_cast<double>(value) * static_cast<double>(value);
        const double factor = 1 / std::sqrt(squares / static_cast<double>(n) + 1e-6);
        std::vector<float> y(n), in_place = x;
        row->rms_norm(x.data(), weighted ? w.data() : nullptr, 1e-6f, n, y.data());
        row->rms_norm(in_place.data(), weighted ? w.data() : nullptr, 1e-6f, n, in_place.data());
        CAPTURE(row->name, n, weighted);
        REQUIRE(same_bits(y, in_place));
        for (size_t i = 0; i < n; ++i)
          REQUIRE(relative_error(y[i], static_cast<double>(x[i]) * factor *
                                           (weighted ? static_cast<double>(w[i]) : 1)) < 1e-6);
      }
    }
  }
}

TEST_CASE("rms_norm of large and of vanishing values", "[kernels]") {
  for (const Kernels* row : runnable_rows()) {
    for (const float value : {300.0f, -70000.0f, 1e-4f}) {
      std::vector<float> x(5376, value), y(x.size());
      row->rms_norm(x.data(), nullptr, 1e-6f, x.size(), y.data());
      const double v = static_cast<double>(value);
      CAPTURE(row->name, value);
      CHECK(relative_error(y[0], v / std::sqrt(v * v + 1e-6)) < 1e-6);
      CHECK(y[5375] == y[0]);
    }
    std::vector<float> zeros(64, 0.0f), y(64, 1.0f);
    row->rms_norm(zeros.data(), nullptr, 1e-6f, zeros.size(), y.data());
    CHECK(y == zeros);
  }
}

TEST_CASE("add, scale and rope of every length", "[kernels]") {
  Random random(3);
  for (const Kernels* row : runnable_rows()) {
    for (size_t n = 0; n <= 40; ++n) {
      const std::vector<float> x = random.normals(2 * n), y = random.normals(2 * n),
                               angle = random.normals(n);
      CAPTURE(row->name, n);
      std::vector<float> sum = x, scaled = x, rotated = x, cos(n), sin(n);
      row->add(sum.data(), y.data(), n);
      row->scale(scaled.data(), 1.7f, n);
      for (size_t i = 0; i < n; ++i) cos[i] = std::cos(angle[i]), sin[i] = std::sin(angle[i]);
      row->rope(rotated.data(), cos.data(), sin.data(), n);
      for (size_t i = 0; i < n; ++i) {
        REQUIRE(sum[i] == x[i] + y[i]);
        REQUIRE(scaled[i] == x[i] * 1.7f);
        const double a = static_cast<double>(x[i]), b = static_cast<double>(x[n + i]);
        const double c = static_cast<double>(cos[i]), s = static_cast<double>(sin[i]);
        REQUIRE(std::abs(static_cast<double>(rotated[i]) - (a * c - b * s)) < 1e-6);
        REQUIRE(std::abs(static_cast<double>(rotated[n + i]) - (a * s + b * c)) < 1e-6);
      }
      for (size_t i = n; i < 2 * n; ++i) REQUIRE((sum[i] == x[i] && scaled[i] == x[i]));
    }
  }
}

// x (1 + tanh u) / 2 without its cancellation.
double gelu(double x) { return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

TEST_CASE("gelu_mul over the whole range", "[kernels]") {
  std::vector<float> gate, up;
  for (float x = -12; x <= 12; x += 0.0037f) gate.push_back(x);
  for (const float x :
       {0.0f, -0.0f, 1e-30f, -1e-30f, 1e-5f, -1e-5f, 30.0f, -30.0f, 1e4f, -1e4f, 3e38f, -3e38f})
    gate.push_back(x);
  Random random(4);
  up = random.normals(gate.size());
  for (const Kernels* row : runnable_rows()) {
    std::vector<float> y(gate.size()), single(gate.size()), in_place = gate;
    row->gelu_mul(gate.data(), up.data(), gate.size(), y.data());
    row->gelu_mul(in_place.data(), up.data(), gate.size(), in_place.data());
    CHECK(same_bits(y, in_place));
    for (size_t i = 0; i < gate.size(); ++i) {
      row->gelu_mul(&gate[i], &up[i], 1, &single[i]);
      const double exact = gelu(static_cast<double>(gate[i])) * static_cast<double>(up[i]);
      CAPTURE(row->name, gate[i]);
      // Where gelu vanishes, its error is measured by its argument.
      REQUIRE(std::abs(static_cast<double>(y[i]) - exact) <=
              5e-7 * std::abs(exact) +
                  1e-9 * std::abs(static_cast<double>(gate[i]) * static_cast<double>(up[i])));
    }
    CHECK(same_bits(y, single));  // a value does not depend on its neighbours
    float extremes[3] = {kInfinity, -kInfinity, kNaN};
    const float ones[3] = {1, 1, 1};
    row->gelu_mul(extremes, ones, 3, extremes);
    CHECK(extremes[0] == kInfinity);
    CHECK(extremes[1] == 0.0f);
    CHECK(std::isnan(extremes[2]));
  }
}

TEST_CASE("sigmoid_mul over the whole range", "[kernels]") {
  std::vector<float> gate;
  for (float x = -90; x <= 90; x += 0.037f) gate.push_back(x);
  for (const float x : {0.0f, -0.0f, 1e-30f, -1e-30f, 1e-5f, -1e-5f, 1e4f, -1e4f, 3e38f, -3e38f})
    gate.push_back(x);
  Random random(7);
  const std::vector<float> x = random.normals(gate.size());
  for (const Kernels* row : runnable_rows()) {
    std::vector<float> y(gate.size()), single(gate.size()), in_place = x, silu = gate;
    row->sigmoid_mul(gate.data(), x.data(), gate.size(), y.data());
    row->sigmoid_mul(gate.data(), in_place.data(), gate.size(), in_place.data());
    CHECK(same_bits(y, in_place));
    row->sigmoid_mul(silu.data(), silu.data(), silu.size(), silu.data());
    for (size_t i = 0; i < gate.size(); ++i) {
      row->sigmoid_mul(&gate[i], &x[i], 1, &single[i]);
      const double sigmoid = 1 / (1 + std::exp(-static_cast<double>(gate[i])));
      CAPTURE(row->name, gate[i]);
      REQUIRE(std::abs(static_cast<double>(y[i]) - sigmoid * static_cast<double>(x[i])) <=
              5e-7 * sigmoid + 1e-37);
      REQUIRE(std::abs(static_cast<double>(silu[i]) - sigmoid * static_cast<double>(gate[i])) <=
              5e-7 * sigmoid * std::abs(static_cast<double>(gate[i])) + 1e-35);
    }
    CHECK(same_bits(y, single));  // a value does not depend on its neighbours
    float extremes[3] = {kInfinity, -kInfinity, kNaN};
    const float ones[3] = {1, 1, 1};
    row->sigmoid_mul(extremes, ones, 3, extremes);
    CHECK(extremes[0] == 1.0f);
    CHECK(extremes[1] == 0.0f);
    CHECK(std::isnan(extremes[2]));
  }
}

TEST_CASE("softcap over the whole range", "[kernels]") {
  std::vector<float> x;
  for (float value = -300; value <= 300; value += 0.037f) x.push_back(value);
  for (float value = 1e-30f; value < 1e30f; value *= 1.7f) x.push_back(value), x.push_back(-value);
  for (const float value : {0.0f, 1e4f, -1e4f, kInfinity, -kInfinity, 3e38f, -3e38f}) x.push_back(value);
  for (const Kernels* row : runnable_rows()) {
    std::vector<float> y = x, single = x;
    row->softcap(y.data(), 30, y.size());
    for (size_t i = 0; i < x.size(); ++i) {
      row->softcap(&single[i], 30, 1);
      CAPTURE(row->name, x[i]);
      REQUIRE(relative_error(y[i], 30 * std::tanh(static_cast<double>(x[i]) / 30)) < 5e-7);
      REQUIRE(std::abs(y[i]) <= 30.0f);
    }
    CHECK(same_bits(y, single));
    float nan = kNaN;
    row->softcap(&nan, 30, 1);
    CHECK(std::isnan(nan));
  }
}
}  // namespace
}  // namespace g4
