// What a model container offers: metadata by key, and a list of tensors. GGUF is one; others implement the
// same interface.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "quant/dtype.h"

namespace g4 {
struct TensorView {
  std::string name;
  DType type;
  std::vector<uint64_t> shape;  // outermost first ([rows, cols]; [experts, rows, cols]); at most 4
  const uint8_t* data;          // in the mapping
  uint64_t offset;              // of data in the file
  uint64_t size_bytes;
};

// "[32, 96]", for messages.
std::string shape_text(std::span<const uint64_t> shape);

class TensorSource {
 public:
  virtual ~TensorSource() = default;
  // Metadata. A missing key is absl::NotFoundError; a key of another type, or an integer out of range, is a
  // format error that names the key. Integers of any width and sign convert when the value fits.
  virtual StatusOr<int64_t> get_int(std::string_view key) const = 0;
  virtual StatusOr<double> get_float(std::string_view key) const = 0;
  virtual StatusOr<bool> get_bool(std::string_view key) const = 0;
  virtual StatusOr<std::string_view> get_string(std::string_view key) const = 0;
  virtual StatusOr<std::vector<int64_t>> get_int_array(
      std::string_view key) const = 0;  // also bool arrays, as 0/1
  virtual StatusOr<std::vector<float>> get_float_array(std::string_view key) const = 0;
  virtual StatusOr<std::vector<std::string_view>> get_string_array(std::string_view key) const = 0;
  virtual bool has(std::string_view key) const = 0;
  virtual bool is_array(std::string_view key) const = 0;
  // Elements of the array `key`, without decoding them; 0 if there is no such array.
  virtual uint64_t array_length(std::string_view key) const = 0;
  // The tensor of this name, or nullptr.
  virtual const TensorView* find(std::string_view name) const = 0;
  virtual std::span<const TensorView> tensors() const = 0;
};
}  // namespace g4
