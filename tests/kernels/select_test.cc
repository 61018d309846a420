#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "tests/kernels/kernel_test.h"

namespace g4 {
namespace {
TEST_CASE("a row is chosen by features and by name", "[kernels]") {
  size_t count = 0;
  const Kernels* const* rows = kernel_rows(&count);
  REQUIRE(count >= 1);
  CHECK(std::string(rows[count - 1]->name) == "generic");
  CHECK(rows[count - 1]->required_features == 0);
  CHECK(select_kernels(0, nullptr) == rows[count - 1]);
  CHECK(select_kernels(~0u, nullptr) == rows[0]);
  CHECK(select_kernels(~0u, "no such row") == nullptr);
  CHECK(select_kernels(~0u, "") == nullptr);
  std::set<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    CAPTURE(rows[i]->name);
    CHECK(names.insert(rows[i]->name).second);
    CHECK(select_kernels(~0u, rows[i]->name) == rows[i]);
    CHECK(select_kernels(rows[i]->required_features, rows[i]->name) == rows[i]);
    for (int bit = 0; bit < 32; ++bit)  // any required feature that lacks rules the row out
      if (rows[i]->required_features >> bit & 1)
        CHECK(select_kernels(~(1u << bit), rows[i]->name) == nullptr);
  }
}

TEST_CASE("a row needs registers that the system saves, even if it is asked for by name", "[kernels]") {
  size_t count = 0;
  const Kernels* const* rows = kernel_rows(&count);
  const uint32_t bare = x86_features({~0u, ~0u, ~0u, ~0u, 0x3}, [] { return true; });
  const uint32_t ungranted = x86_features({~0u, ~0u, ~0u, ~0u, 0x602e7}, [] { return false; });
  CHECK(std::string(select_kernels(bare, nullptr)->name) == "generic");
  CHECK(select_kernels(ungranted, "amx") == nullptr);
  for (size_t i = 0; i + 1 < count; ++i) {
    CAPTURE(rows[i]->name);
    CHECK(select_kernels(bare, rows[i]->name) == nullptr);
  }
}

#ifdef G4_TEST_NEEDS_ROW
TEST_CASE("this machine, emulated to test a row, runs it", "[kernels]") {
  CHECK(select_kernels(detect_cpu_features(), G4_TEST_NEEDS_ROW) != nullptr);
}
#endif

TEST_CASE("every row has every kernel", "[kernels]") {
  size_t count = 0;
  const Kernels* const* rows = kernel_rows(&count);
  for (size_t i = 0; i < count; ++i) {
    const Kernels& row = *rows[i];
    const bool has_words = !std::string(row.name).starts_with("neon");  // NEON multiplies floats as fast
    CHECK((row.matmul_words != nullptr) == has_words);
    for (const DType type : all_types()) {
      const size_t t = static_cast<size_t>(type);
      CAPTURE(label(row, type));
      CHECK(row.matmul_f32[t] != nullptr);
      CHECK((row.matmul_i8[t] != nullptr) == (dtype_info(type).block_values > 1));
      if (dtype_info(type).block_values == 1) CHECK((row.to_words[t] != nullptr) == has_words);
    }
    CHECK(row.quantize_row != nullptr);
    CHECK(row.rms_norm != nullptr);
    CHECK(row.add != nullptr);
    CHECK(row.scale != nullptr);
    CHECK(row.gelu_mul != nullptr);
    CHECK(row.sigmoid_mul != nullptr);
    CHECK(row.softmax != nullptr);
    CHECK(row.softcap != nullptr);
    CHECK(row.rope != nullptr);
    for (size_t type = 0; type < kKvTypeCount; ++type) {
      CHECK(row.attend_page[type] != nullptr);
      CHECK(row.store_kv[type] != nullptr);
    }
  }
}
}  // namespace
}  // namespace g4
