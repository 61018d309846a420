#include "tests/support/test_data.h"

#include <catch2/catch.hpp>
#include <filesystem>

namespace g4 {
TEST_CASE("a temporary folder goes away with its files") {
  std::string path;
  {
    const TempDir dir;
    path = dir.write("a.txt", std::string("x\0y", 3));
    CHECK(read_file(path) == std::string("x\0y", 3));
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("every packed reference model is where golden_path says") {
  for (const char* name : {"demo/g4-demo-f32.gguf", "demo/expected.json", "tiny/e2b-tiny/model.gguf",
                           "tiny/e4b-tiny/model.gguf", "tiny/dense31b-tiny/model.gguf",
                           "tiny/moe26b-tiny/goldens.safetensors", "tiny/quant-tiny/model-Q5_0.gguf"})
    CHECK(std::filesystem::exists(golden_path(name)));
  CHECK(std::filesystem::exists(golden_source_path("SHA256SUMS")));
}
}  // namespace g4
