#include "tests/support/safetensors.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/support/test_data.h"

namespace g4 {
TEST_CASE("goldens are read with their shapes and types") {
  const Safetensors goldens(golden_path("tiny/quant-tiny/goldens.safetensors"));
  const auto& logits = goldens["BF16.prompt7.logits"];
  CHECK(logits.dtype == "F32");
  CHECK(logits.shape == std::vector<size_t>{7, 640});
  CHECK(logits.values<float>().size() == 7 * 640);
  for (const float value : logits.values<float>()) REQUIRE(std::abs(value) <= 30.0f);  // the model's soft cap
  CHECK(goldens["BF16.prompt7.greedy"].values<int32_t>().size() == 16);
  CHECK_FALSE(goldens.has("no such tensor"));
}

TEST_CASE("a safetensors file of every type") {
  const std::string header =
      R"({"__metadata__":{"a":"b"},"d":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},)"
      R"("i":{"dtype":"I16","shape":[1,2],"data_offsets":[16,20]},"u":{"dtype":"U8","shape":[],"data_offsets":[20,21]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  const double numbers[] = {1.5, -2.0};
  file += header + std::string(reinterpret_cast<const char*>(numbers), sizeof numbers);
  file += std::string("\x01\x00\xff\xff\x2a", 5);
  const TempDir dir;
  const Safetensors read(dir.write("all.safetensors", file));
  CHECK(read.tensors().size() == 3);
  CHECK(read["d"].values<double>()[1] == -2.0);
  CHECK(read["i"].values<int16_t>()[1] == -1);
  CHECK(read["u"].values<uint8_t>()[0] == 42);
  CHECK(read["u"].count() == 1);
}
}  // namespace g4
