// The towers of the tiny models and their goldens.
#pragma once
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "media/encode.h"
#include "tests/support/safetensors.h"
#include "tests/support/test_data.h"

namespace g4 {
// Kernels and threads for tests.
struct TestCompute {
  explicit TestCompute(int threads = 2, const char* cpu = nullptr)
      : pool(*ThreadPool::create(threads)),
        compute{*select_kernels(detect_cpu_features(), cpu), *pool, cancel, Precision::kF32} {}
  std::unique_ptr<ThreadPool> pool;
  std::atomic<bool> cancel{false};
  MediaCompute compute;
};

inline std::shared_ptr<const Towers> open_tiny_towers(const std::string& model) {
  auto towers = open_towers(golden_path("tiny/" + model + "/mmproj.gguf"), model == "mm-tiny" ? 64 : 96);
  INFO(towers.status().message());
  REQUIRE(towers.ok());
  return *std::move(towers);
}

inline Safetensors media_goldens(const std::string& model) {
  return Safetensors(golden_path("tiny/" + model + "/goldens.safetensors"));
}

// The largest difference relative to the largest expected value.
inline float relative_error(std::span<const float> values, std::span<const float> expected) {
  REQUIRE(values.size() == expected.size());
  float error = 0, largest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    error = std::isfinite(values[i]) ? std::max(error, std::abs(values[i] - expected[i])) : INFINITY;
    largest = std::max(largest, std::abs(expected[i]));
  }
  return error / largest;
}

inline ImageView image_view(const Safetensors::Tensor& rgb) {
  const int height = static_cast<int>(rgb.shape[0]), width = static_cast<int>(rgb.shape[1]);
  return {rgb.bytes.data(), width, height, 3, static_cast<size_t>(width) * 3};
}

inline SoundView sound_view(const Safetensors::Tensor& pcm) {
  return {pcm.values<int16_t>().data(), pcm.shape[0], 1, 16000};
}
}  // namespace g4
