// Every tensor type, in the order of DType.
#pragma once
#include "quant/bf16.h"
#include "quant/f16.h"
#include "quant/f32.h"
#include "quant/q4_0.h"
#include "quant/q4_1.h"
#include "quant/q4_k.h"
#include "quant/q5_0.h"
#include "quant/q5_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"

namespace g4 {
namespace {
template <class... Types>
struct TypeList {
  static constexpr bool in_order() {
    int index = 0;
    return ((static_cast<int>(Types::kType) == index++) && ...) && index == kDTypeCount;
  }
};
using AllTypes = TypeList<F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q4_K, Q5_K, Q6_K>;
static_assert(AllTypes::in_order(), "one entry per DType, in its order");
}  // namespace
}  // namespace g4
