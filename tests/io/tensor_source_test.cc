#include "io/tensor_source.h"

#include <catch2/catch.hpp>

TEST_CASE("tensor source: shapes as messages show them", "[io]") {
  CHECK(g4::shape_text(std::vector<uint64_t>{32, 96}) == "[32, 96]");
  CHECK(g4::shape_text(std::vector<uint64_t>{1}) == "[1]");
  CHECK(g4::shape_text({}) == "[]");
}
