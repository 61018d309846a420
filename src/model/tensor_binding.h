// Tensors of a file as the views that weights are made of.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "io/tensor_source.h"
#include "model/weights.h"

namespace g4 {
// All dimensions but the last are rows.
Matrix as_matrix(const TensorView& tensor);
// Shapes agree if they do without outer dimensions of 1, which some writers drop.
bool same_shape(std::span<const uint64_t> a, std::span<const uint64_t> b);
// Points at the values in the mapping where they are float32 and aligned, else at a decoded copy added to
// `copies`. Errors: format (a type other than F32, F16, BF16), memory.
Status bind_vector(const TensorView& tensor, Vector& field, std::vector<std::unique_ptr<float[]>>& copies);
}  // namespace g4
