#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "tests/kernels/kernel_test.h"

namespace g4 {
namespace {
constexpr float kInfinity = std::numeric_limits<float>::infinity();

float decode_half(uint16_t half) {
  float value;
  dtype_info(DType::kF16).decode(reinterpret_cast<const uint8_t*>(&half), &value, 1);
  return value;
}

// K or V of consecutive positions, as the row stores them; values also decoded again.
struct KvRows {
  KvRows(const Kernels& row, KvType type, const std::vector<float>& x, size_t E) : values(x) {
    row_bytes = kv_row_bytes(type, E);
    bytes.resize(x.size() / E * row_bytes);
    for (size_t p = 0; p < x.size() / E; ++p)
      row.store_kv[static_cast<size_t>(type)](x.data() + p * E, E, bytes.data() + p * row_bytes);
    if (type == KvType::kF32) return;
    const DTypeInfo& info = dtype_info(type == KvType::kF16 ? DType::kF16 : DType::kQ8_0);
    std::vector<float> decoded(E + 31);
    for (size_t p = 0; p < x.size() / E; ++p) {
      const size_t stored = type == KvType::kF16 ? E : (E + 31) / 32 * 32;
      info.decode(bytes.data() + p * row_bytes, decoded.data(), stored);
      std::copy_n(decoded.begin(), E, values.begin() + static_cast<ptrdiff_t>(p * E));
    }
  }
  const void* page(int p) const { return bytes.data() + static_cast<size_t>(p) * kPagePositions * row_bytes; }
  size_t row_bytes;
  std::vector<uint8_t> bytes;
  std::vector<float> values;
};

// Where the rows of E values begin.
template <typename Values>
auto rows_of(Values& values, size_t E) {
  std::vector<decltype(values.data())> rows;
  for (size_t i = 0; i < values.size(); i += E) rows.push_back(values.data() + i);
  return rows;
}

// Positions [begin, end) of the pages, for G query rows in calls of at most g_step rows: softmax sums divided
// out.
std::vector<float> attend(const Kernels& row, KvType type, const std::vector<float>& q, size_t G,
                          size_t g_step, size_t E, const KvRows& k, const KvRows& v, int begin, int end) {
  std::vector<SoftmaxState> state(G, {-kInfinity, 0});
  std::vector<float> out(G * E, 0.0f);
  for (size_t g = 0; g < G; g += g_step)
    for (int page = begin / kPagePositions; page * kPagePositions < end; ++page) {
      const int start = page * kPagePositions;
      row.attend_page[static_cast<size_t>(type)](rows_of(q, E).data() + g, std::min(g_step, G - g), E,
                                                 k.page(page), v.page(page), std::max(begin - start, 0),
                                                 std::min(end - start, kPagePositions), &state[g],
                                                 rows_of(out, E).data() + g);
    }
  for (size_t g = 0; g < G; ++g) row.scale(&out[g * E], 1 / state[g].sum, E);
  return out;
}

double largest_error(const std::vector<float>& out, const std::vector<float>& q, size_t G, size_t E,
                     const KvRows& k, const KvRows& v, int begin, int end) {
  double error = 0;
  for (size_t g = 0; g < G; ++g) {
    std::vector<double> weight;
    for (int p = begin; p < end; ++p) {
      double score = 0;
      for (size_t e = 0; e < E; ++e)
        score +=
            static_cast<double>(q[g * E + e]) * static_cast<double>(k.values[static_cast<size_t>(p) * E + e]);
      weight.push_back(score);
    }
    const double top = *std::max_element(weight.begin(), weight.end());
    double total = 0;
    for (double& w : weight) total += w = std::exp(w - top);
    for (size_t e = 0; e < E; ++e) {
      double expected = 0;
      for (size_t i = 0; i < weight.size(); ++i)
        expected +=
            weight[i] / total * static_cast<double>(v.values[(static_cast<size_t>(begin) + i) * E + e]);
      error = std::max(error, std::abs(expected - static_cast<double>(out[g * E + e])));
    }
  }
  return error;
}

TEST_CASE("attend_page agrees with a softmax in double precision", "[kernels]") {
  const int positions = 3 * kPagePositions;
  const struct {
    int begin, end;
  } ranges[] = {{0, 1}, {0, 32}, {0, 33}, {31, 32}, {5, 70}, {17, 18}, {40, 96}, {0, 96}};
  for (const Kernels* row : runnable_rows()) {
    for (const size_t E : {2, 6, 16, 18, 24, 62, 64, 128, 256, 512}) {
      Random random(static_cast<uint32_t>(E));
      for (const KvType type : {KvType::kF16, KvType::kF32, KvType::kQ8_0}) {
        const KvRows k(*row, type, random.normals(positions * E), E),
            v(*row, type, random.normals(positions * E), E);
        for (const size_t G : {1, 2, 7, 8, 70}) {
          const std::vector<float> q = random.normals(G * E);
          const auto& range = ranges[(E + G) % std::size(ranges)];
          CAPTURE(row->name, E, static_cast<int>(type), G, range.begin, range.end);
          const std::vector<float> out = attend(*row, type, q, G, G, E, k, v, range.begin, range.end);
          CHECK(largest_error(out, q, G, E, k, v, range.begin, range.end) < 2e-5);
          for (const size_t g_step : {1, 3})  // a query row does not depend on the others
            CHECK(same_bits(out, attend(*row, type, q, G, g_step, E, k, v, range.begin, range.end)));
        }
      }
    }
  }
}

TEST_CASE("attend_page never looks at positions outside the range", "[kernels]") {
  const size_t E = 20, G = 3;
  for (const Kernels* row : runnable_rows()) {
    for (const int type : {0, 1, 2}) {
      Random random(9);
      const std::vector<float> q = random.normals(G * E), values = random.normals(kPagePositions * E);
      std::vector<float> spoiled = values;
      for (size_t i = 0; i < values.size(); ++i)
        if (i / E < 5 || i / E >= 12) spoiled[i] = std::numeric_limits<float>::quiet_NaN();
      const KvRows clean(*row, static_cast<KvType>(type), values, E),
          bad(*row, static_cast<KvType>(type), spoiled, E);
      CAPTURE(row->name, type);
      CHECK(same_bits(attend(*row, static_cast<KvType>(type), q, G, G, E, clean, clean, 5, 12),
                      attend(*row, static_cast<KvType>(type), q, G, G, E, bad, bad, 5, 12)));
      SoftmaxState state[G] = {{1, 2}, {3, 4}, {5, 6}};
      std::vector<float> out(G * E, 7.0f);
      row->attend_page[type](rows_of(q, E).data(), G, E, bad.bytes.data(), bad.bytes.data(), 12, 12, state,
                             rows_of(out, E).data());
      CHECK(state[1].max == 3);
      CHECK(state[1].sum == 4);
      CHECK(out == std::vector<float>(G * E, 7.0f));
    }
  }
}

// One key far above the others, in the first or in the last page: all weight on it and no overflow.
TEST_CASE("attend_page with scores of any size", "[kernels]") {
  const size_t E = 16;
  for (const Kernels* row : runnable_rows()) {
    for (const size_t winner : {3, 40}) {
      std::vector<float> keys(2 * kPagePositions * E, -1.0f), values(keys.size());
      std::fill_n(&keys[winner * E], E, 1.0f);
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / E);
      const std::vector<float> q(E, 1e4f);
      const KvRows k(*row, KvType::kF32, keys, E), v(*row, KvType::kF32, values, E);
      const std::vector<float> out = attend(*row, KvType::kF32, q, 1, 1, E, k, v, 0, 2 * kPagePositions);
      CAPTURE(row->name, winner);
      CHECK(out == std::vector<float>(E, static_cast<float>(winner)));
    }
  }
}

TEST_CASE("softmax in pieces of any length agrees with one in double precision", "[kernels]") {
  for (const Kernels* row : runnable_rows()) {
    Random random(3);
    for (const size_t n : {1, 2, 7, 8, 15, 16, 17, 100}) {
      const std::vector<float> scores = random.normals(3 * n, 4);
      std::vector<float> weights(3 * n + 1, 77.0f);
      std::copy(scores.begin(), scores.end(), weights.begin());
      SoftmaxState state{-kInfinity, 0};
      for (size_t begin = 0; begin < 3 * n; begin += n) {
        const float before = state.max, kept = row->softmax(&weights[begin], n, &state);
        CHECK(kept == Approx(std::exp(before - state.max)).epsilon(1e-6));
        for (size_t i = 0; i < begin; ++i) weights[i] *= kept;
      }
      double total = 0;
      const float top = *std::max_element(scores.begin(), scores.end());
      for (const float score : scores) total += std::exp(static_cast<double>(score - top));
      CAPTURE(row->name, n);
      CHECK(state.max == top);
      CHECK(state.sum == Approx(total).epsilon(1e-6));
      for (size_t i = 0; i < 3 * n; ++i)
        REQUIRE(weights[i] == Approx(std::exp(static_cast<double>(scores[i] - top))).epsilon(2e-6));
      CHECK(weights[3 * n] == 77.0f);
    }
  }
}

TEST_CASE("store_kv rounds to the nearest half, ties to even, and saturates", "[kernels]") {
  std::vector<float> x;
  std::vector<uint16_t> expected;
  for (uint32_t half = 0; half < 0x7c00; ++half) {  // each half, the tie above it and its neighbours
    const float low = decode_half(static_cast<uint16_t>(half));
    const float high = half == 0x7bff ? 65536.0f : decode_half(static_cast<uint16_t>(half + 1)),
                tie = (low + high) / 2;
    const uint32_t up = half == 0x7bff ? half : half + 1;  // 65504 is the end
    for (const uint16_t sign : {0, 0x8000}) {
      const auto push = [&](float value, uint32_t to) {
        x.push_back(sign != 0 ? -value : value);
        expected.push_back(static_cast<uint16_t>(to | sign));
      };
      push(low, half);
      push(std::nextafter(tie, 0.0f), half);
      push(tie, half % 2 == 0 ? half : up);
      push(std::nextafter(tie, kInfinity), up);
    }
  }
  for (const float value : {65504.0f, 65519.9f, 65520.0f, 1e6f, 3e38f, kInfinity}) {
    x.push_back(value);
    expected.push_back(0x7bff);
    x.push_back(-value);
    expected.push_back(0xfbff);
  }
  x.push_back(1e-40f);
  expected.push_back(0);
  for (const Kernels* row : runnable_rows()) {
    std::vector<uint16_t> stored(x.size());
    row->store_kv[static_cast<size_t>(KvType::kF16)](x.data(), x.size(), stored.data());
    CAPTURE(row->name);
    CHECK(stored == expected);
    for (size_t E = 1; E < 20; ++E) {  // no write beyond the row
      std::vector<uint16_t> some(E + 1, 0xabcd);
      row->store_kv[static_cast<size_t>(KvType::kF16)](x.data() + 9000, E, some.data());
      CHECK(std::equal(some.begin(), some.end() - 1, expected.begin() + 9000));
      CHECK(some[E] == 0xabcd);
    }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    row->store_kv[static_cast<size_t>(KvType::kF16)](&nan, 1, stored.data());
    CHECK(std::isnan(decode_half(stored[0])));
    std::vector<float> copy(x.size());
    row->store_kv[static_cast<size_t>(KvType::kF32)](x.data(), x.size(), copy.data());
    CHECK(same_bits(copy, x));
  }
}

TEST_CASE("store_kv in 8 bits: to half a step of each block's scale, the same on every row, no write beyond",
          "[kernels]") {
  for (const size_t E : {1, 4, 31, 32, 33, 64, 96, 256, 512}) {
    Random random(static_cast<uint32_t>(E));
    std::vector<float> x = random.normals(E);
    for (size_t i = 0; i < E && i < 32; ++i) x[i] *= 1e-2f;  // blocks of different sizes
    const size_t bytes = kv_row_bytes(KvType::kQ8_0, E);
    std::vector<uint8_t> reference(bytes);
    generic_kernels().store_kv[static_cast<size_t>(KvType::kQ8_0)](x.data(), E, reference.data());
    std::vector<float> decoded((E + 31) / 32 * 32);
    dtype_info(DType::kQ8_0).decode(reference.data(), decoded.data(), decoded.size());
    for (size_t i = 0; i < decoded.size(); ++i) {
      const auto block = x.begin() + static_cast<ptrdiff_t>(i / 32 * 32);
      const auto end = x.begin() + static_cast<ptrdiff_t>(std::min(E, i / 32 * 32 + 32));
      const float largest =
          std::abs(*std::max_element(block, end, [](float a, float b) { return std::abs(a) < std::abs(b); }));
      CHECK(std::abs(decoded[i] - (i < E ? x[i] : 0.0f)) <= largest * (0.5f / 127 + 1e-3f));
    }
    for (const Kernels* row : runnable_rows()) {
      std::vector<uint8_t> stored(bytes + 1, 0xcd);
      row->store_kv[static_cast<size_t>(KvType::kQ8_0)](x.data(), E, stored.data());
      CAPTURE(row->name, E);
      CHECK(std::equal(reference.begin(), reference.end(), stored.begin()));
      CHECK(stored[bytes] == 0xcd);
    }
  }
}
}  // namespace
}  // namespace g4
