// Writes GGUF files for tests, right ones and wrong ones: every part can be replaced before build().
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/gguf.h"
#include "quant/dtype.h"

namespace g4 {
// Types of metadata values, by the numbers of the format.
enum GgufValue : uint32_t {
  kGgufU8,
  kGgufI8,
  kGgufU16,
  kGgufI16,
  kGgufU32,
  kGgufI32,
  kGgufF32,
  kGgufBool,
  kGgufString,
  kGgufArray,
  kGgufU64,
  kGgufI64,
  kGgufF64
};

// The bytes of a number.
template <typename T>
std::string bytes_of(T value) {
  static_assert(std::is_arithmetic_v<T>);
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}
// A string as GGUF stores it.
inline std::string gguf_string(const std::string& text) { return bytes_of(uint64_t{text.size()}) + text; }

struct GgufTensor {
  std::string name;
  std::vector<uint64_t> shape;     // outermost first
  uint32_t type;                   // ggml's number
  uint64_t size_bytes;             // room in the data section
  std::string data;                // the first bytes of that room; the rest is zero
  std::optional<uint64_t> offset;  // in the data section; else after the tensor before
};

class GgufWriter {
 public:
  uint32_t magic = 0x46554747, version = 3;
  std::optional<uint64_t> key_count, tensor_count;  // else the true ones
  uint64_t alignment = 32;                          // of the data; set general.alignment too if it is not 32
  std::vector<std::pair<std::string, std::string>> keys;  // name, then type number and value as bytes
  std::vector<GgufTensor> tensors;

  // Sets a key, or replaces it.
  template <typename T>
  GgufWriter& set(const std::string& key, const T& value) {
    return set_raw(key, bytes_of(type_number<T>()) + value_bytes(value));
  }
  template <typename T>
  GgufWriter& set_array(const std::string& key, const std::vector<T>& values) {
    std::string bytes =
        bytes_of<uint32_t>(kGgufArray) + bytes_of(type_number<T>()) + bytes_of(uint64_t{values.size()});
    for (const T& value : values) bytes += value_bytes(value);
    return set_raw(key, bytes);
  }
  GgufWriter& set_raw(const std::string& key, const std::string& type_and_value) {
    for (auto& [name, value] : keys)
      if (name == key) return value = type_and_value, *this;
    keys.emplace_back(key, type_and_value);
    return *this;
  }
  GgufWriter& erase(const std::string& key) {
    keys.erase(std::remove_if(keys.begin(), keys.end(), [&](const auto& k) { return k.first == key; }),
               keys.end());
    return *this;
  }

  // Appends a tensor; its data may be set later, else it is zero.
  GgufTensor& add(const std::string& name, const std::vector<uint64_t>& shape, DType type = DType::kF32,
                  std::string data = "") {
    const uint64_t rows = std::accumulate(shape.begin(), shape.end() - 1, uint64_t{1}, std::multiplies<>());
    tensors.push_back(
        {name, shape, dtype_info(type).gguf_id, rows * row_bytes(type, shape.back()), std::move(data), {}});
    return tensors.back();
  }
  GgufTensor& tensor(const std::string& name) {
    return *std::find_if(tensors.begin(), tensors.end(), [&](const GgufTensor& t) { return t.name == name; });
  }
  GgufWriter& erase_tensor(const std::string& name) {
    tensors.erase(tensors.begin() + (&tensor(name) - tensors.data()));
    return *this;
  }

  // Header, keys and tensor table.
  std::string head() const {
    std::string out = bytes_of(magic) + bytes_of(version) + bytes_of(tensor_count.value_or(tensors.size())) +
                      bytes_of(key_count.value_or(keys.size()));
    for (const auto& [name, value] : keys) out += gguf_string(name) + value;
    uint64_t offset = 0;
    for (const GgufTensor& t : tensors) {
      out += gguf_string(t.name) + bytes_of(static_cast<uint32_t>(t.shape.size()));
      for (auto dim = t.shape.rbegin(); dim != t.shape.rend(); ++dim) out += bytes_of(*dim);
      out += bytes_of(t.type) + bytes_of(t.offset.value_or(offset));
      offset = aligned(offset + t.size_bytes);
    }
    return out;
  }
  // The whole file. It ends with the last byte of the last tensor.
  std::string build() const {
    std::string out = head();
    if (!tensors.empty()) out.resize(aligned(out.size()));
    for (const GgufTensor& t : tensors) {
      out.resize(aligned(out.size()));
      const size_t begin = out.size();
      out += t.data;
      out.resize(begin + t.size_bytes);
    }
    return out;
  }
  // The whole file with all data zero, as a hole: files of any size cost nothing.
  void write_sparse(const std::string& path) const {
    std::string out = head();
    std::ofstream(path, std::ios::binary) << out;
    uint64_t size = aligned(out.size());
    for (const GgufTensor& t : tensors) size = aligned(size) + t.size_bytes;
    std::filesystem::resize_file(path, size);
  }

 private:
  uint64_t aligned(uint64_t size) const { return (size + alignment - 1) / alignment * alignment; }
  template <typename T>
  static constexpr uint32_t type_number() {
    if constexpr (std::is_same_v<T, bool>)
      return kGgufBool;
    else if constexpr (std::is_same_v<T, float>)
      return kGgufF32;
    else if constexpr (std::is_same_v<T, double>)
      return kGgufF64;
    else if constexpr (!std::is_integral_v<T>)
      return kGgufString;
    else if constexpr (sizeof(T) == 1)
      return std::is_signed_v<T> ? kGgufI8 : kGgufU8;
    else if constexpr (sizeof(T) == 2)
      return std::is_signed_v<T> ? kGgufI16 : kGgufU16;
    else if constexpr (sizeof(T) == 4)
      return std::is_signed_v<T> ? kGgufI32 : kGgufU32;
    else
      return std::is_signed_v<T> ? kGgufI64 : kGgufU64;
  }
  template <typename T>
  static std::string value_bytes(const T& value) {
    if constexpr (std::is_arithmetic_v<T>)
      return bytes_of(value);
    else
      return gguf_string(value);
  }
};

// A file parsed in memory, in an allocation of exactly its size, so that a sanitizer sees every read beyond
// it.
class GgufInMemory {
 public:
  explicit GgufInMemory(const std::string& file) : bytes_(new uint8_t[file.size()]), source_(nullptr) {
    std::memcpy(bytes_.get(), file.data(), file.size());
    source_ = parse_gguf({bytes_.get(), file.size()});
  }
  explicit GgufInMemory(const GgufWriter& writer) : GgufInMemory(writer.build()) {}
  bool ok() const { return source_.ok(); }
  Status status() const { return source_.status(); }
  std::string message() const { return std::string(source_.status().message()); }
  const TensorSource& operator*() const { return **source_; }
  const TensorSource* operator->() const { return source_->get(); }

 private:
  std::unique_ptr<uint8_t[]> bytes_;
  StatusOr<std::unique_ptr<TensorSource>> source_;
};
}  // namespace g4
