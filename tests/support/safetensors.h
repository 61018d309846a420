// Golden tensors: a whole safetensors file in memory.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace g4 {
class Safetensors {
 public:
  struct Tensor {
    std::string dtype;  // "F32", "F64", "I64", "I32", "I16", "U8", ...
    std::vector<size_t> shape;
    std::span<const uint8_t> bytes;
    size_t count() const;  // values

    // The values; another type than the file's fails the test case. T: float, double, int64_t, int32_t,
    // int16_t, uint8_t.
    template <typename T>
    std::span<const T> values() const;
  };

  // A file that cannot be read fails the test case.
  explicit Safetensors(const std::string& path);
  Safetensors(const Safetensors&) = delete;
  Safetensors& operator=(const Safetensors&) = delete;

  bool has(const std::string& name) const { return tensors_.contains(name); }
  // A missing tensor fails the test case.
  const Tensor& operator[](const std::string& name) const;
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }

 private:
  std::vector<uint8_t> data_;  // aligned for every type
  std::map<std::string, Tensor> tensors_;
};
}  // namespace g4
