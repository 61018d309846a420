#include "media/full_attention.h"

#include <random>

#include "tests/media/media_test.h"

namespace g4 {
namespace {
std::vector<float> normals(size_t count, uint32_t seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(engine);
  return values;
}

// [T, heads, E] of q, k and v [heads, T, E].
std::vector<float> attend(TestCompute& test, size_t T, size_t heads, size_t E, const std::vector<float>& q,
                          const std::vector<float>& k, const std::vector<float>& v) {
  FullAttention attention(test.compute, T, heads, E);
  REQUIRE(attention.reserve().ok());
  for (size_t head = 0; head < heads; ++head)
    for (size_t t = 0; t < T; ++t) {
      attention.set_key(head, t, k.data() + (head * T + t) * E);
      attention.set_value(head, t, v.data() + (head * T + t) * E);
    }
  std::vector<float> out(T * heads * E, NAN);
  attention.attend(q.data(), out.data());
  return out;
}

float expected(const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v,
               size_t T, size_t E, size_t query, size_t head, size_t e) {
  std::vector<double> weight(T);
  const auto at = [&](const std::vector<float>& x, size_t t, size_t i) {
    return static_cast<double>(x[(head * T + t) * E + i]);
  };
  for (size_t t = 0; t < T; ++t)
    for (size_t i = 0; i < E; ++i) weight[t] += at(q, query, i) * at(k, t, i);
  const double top = *std::max_element(weight.begin(), weight.end());
  double total = 0, sum = 0;
  for (size_t t = 0; t < T; ++t) {
    weight[t] = std::exp(weight[t] - top);
    total += weight[t];
    sum += weight[t] * at(v, t, e);
  }
  return static_cast<float>(sum / total);
}
}  // namespace

TEST_CASE("Every position sees every other, whatever the sizes", "[media]") {
  const struct {
    size_t T, heads, E;
  } sizes[] = {{1, 1, 4}, {9, 2, 4}, {63, 3, 20}, {97, 1, 64}, {256, 2, 16}, {257, 1, 72}, {600, 2, 12}};
  for (const auto& [T, heads, E] : sizes) {
    const auto q = normals(T * heads * E, 1), k = normals(T * heads * E, 2), v = normals(T * heads * E, 3);
    for (const char* cpu : {static_cast<const char*>(nullptr), "generic"}) {
      TestCompute one(1, cpu), three(3, cpu);
      const std::vector<float> out = attend(one, T, heads, E, q, k, v);
      CAPTURE(T, heads, E, one.compute.kernels.name);
      CHECK(attend(three, T, heads, E, q, k, v) == out);
      std::vector<float> reference(out.size());
      for (size_t i = 0; i < out.size(); ++i)
        reference[i] = expected(q, k, v, T, E, i / E / heads, i / E % heads, i % E);
      CHECK(relative_error(out, reference) < 1e-5f);
    }
  }
}

TEST_CASE("Attention to all keeps the precision of large scores", "[media]") {
  // The largest score comes last: all before it must be scaled down to nothing, without overflow on the way.
  const size_t T = 300, E = 8;
  std::vector<float> q(T * E, 1.0f), k(T * E), v(T * E);
  for (size_t t = 0; t < T; ++t)
    for (size_t e = 0; e < E; ++e) {
      k[t * E + e] = 100.0f * static_cast<float>(t);
      v[t * E + e] = static_cast<float>(t);
    }
  TestCompute test;
  CHECK(attend(test, T, 1, E, q, k, v) == std::vector<float>(T * E, static_cast<float>(T - 1)));
}
}  // namespace g4
