// Names of intermediate values, for comparison with the reference. Costs one null check where nobody listens.
#pragma once
#include <cstddef>
#include <functional>
#include <string_view>

namespace g4 {
// (name, layer or -1, values [rows, cols], rows, cols). Names: "embed", "ple" [T, L*P], "router"
// (probabilities), "layer" (output of a layer), "final_norm". Called on the thread that runs the forward
// pass; rows are those still running, in batch order.
using Tap =
    std::function<void(std::string_view name, int layer, const float* values, size_t rows, size_t cols)>;
}  // namespace g4
