#include "io/tensor_source.h"

#include "absl/strings/str_join.h"

namespace g4 {
std::string shape_text(std::span<const uint64_t> shape) {
  return StrCat("[", absl::StrJoin(shape, ", "), "]");
}
}  // namespace g4
