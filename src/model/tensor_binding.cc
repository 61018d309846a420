#include "model/tensor_binding.h"

#include <algorithm>
#include <new>

namespace g4 {
Matrix as_matrix(const TensorView& tensor) {
  const uint64_t cols = tensor.shape.back();
  return {tensor.data, tensor.type, static_cast<size_t>(tensor.size_bytes / row_bytes(tensor.type, cols)),
          static_cast<size_t>(cols)};
}

bool same_shape(std::span<const uint64_t> a, std::span<const uint64_t> b) {
  while (a.size() > 1 && a.front() == 1) a = a.subspan(1);
  while (b.size() > 1 && b.front() == 1) b = b.subspan(1);
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

Status bind_vector(const TensorView& tensor, Vector& field, std::vector<std::unique_ptr<float[]>>& copies) {
  if (tensor.type != DType::kF32 && tensor.type != DType::kF16 && tensor.type != DType::kBF16)
    return format_error(StrCat("tensor ", tensor.name, " has type ", dtype_info(tensor.type).name,
                               ", expected F32, F16 or BF16"));
  const Matrix values = as_matrix(tensor);
  const size_t count = values.rows * values.cols;
  if (tensor.type == DType::kF32 && reinterpret_cast<uintptr_t>(tensor.data) % alignof(float) == 0) {
    field = {reinterpret_cast<const float*>(tensor.data), count};
    return absl::OkStatus();
  }
  std::unique_ptr<float[]> copy(new (std::nothrow) float[count]);
  if (copy == nullptr) return memory_error(StrCat("no memory for the ", count, " values of ", tensor.name));
  dtype_info(tensor.type).decode(tensor.data, copy.get(), count);
  field = {copy.get(), count};
  copies.push_back(std::move(copy));
  return absl::OkStatus();
}
}  // namespace g4
