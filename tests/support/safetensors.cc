#include "tests/support/safetensors.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/support/test_data.h"

namespace g4 {
namespace {
template <typename T>
const char* dtype_name();
template <>
const char* dtype_name<float>() {
  return "F32";
}
template <>
const char* dtype_name<double>() {
  return "F64";
}
template <>
const char* dtype_name<int64_t>() {
  return "I64";
}
template <>
const char* dtype_name<int32_t>() {
  return "I32";
}
template <>
const char* dtype_name<int16_t>() {
  return "I16";
}
template <>
const char* dtype_name<uint8_t>() {
  return "U8";
}
}  // namespace

size_t Safetensors::Tensor::count() const {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
}

template <typename T>
std::span<const T> Safetensors::Tensor::values() const {
  REQUIRE(dtype == dtype_name<T>());
  REQUIRE(bytes.size() == count() * sizeof(T));
  REQUIRE(reinterpret_cast<uintptr_t>(bytes.data()) % alignof(T) == 0);
  return {reinterpret_cast<const T*>(bytes.data()), count()};
}
template std::span<const float> Safetensors::Tensor::values() const;
template std::span<const double> Safetensors::Tensor::values() const;
template std::span<const int64_t> Safetensors::Tensor::values() const;
template std::span<const int32_t> Safetensors::Tensor::values() const;
template std::span<const int16_t> Safetensors::Tensor::values() const;
template std::span<const uint8_t> Safetensors::Tensor::values() const;

Safetensors::Safetensors(const std::string& path) {
  const std::string file = read_file(path);
  INFO(path);
  uint64_t header_size = 0;
  REQUIRE(file.size() >= sizeof header_size);
  std::memcpy(&header_size, file.data(), sizeof header_size);
  REQUIRE(header_size <= file.size() - sizeof header_size);
  const auto header = nlohmann::json::parse(file.substr(sizeof header_size, header_size));
  data_.assign(file.begin() + static_cast<std::ptrdiff_t>(sizeof header_size + header_size), file.end());
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const auto range = entry.at("data_offsets").get<std::vector<size_t>>();
    REQUIRE(range.size() == 2);
    REQUIRE(range[0] <= range[1]);
    REQUIRE(range[1] <= data_.size());
    tensors_[name] = {entry.at("dtype"), entry.at("shape"), {data_.data() + range[0], range[1] - range[0]}};
  }
}

const Safetensors::Tensor& Safetensors::operator[](const std::string& name) const {
  INFO("tensor " << name);
  REQUIRE(has(name));
  return tensors_.at(name);
}
}  // namespace g4
