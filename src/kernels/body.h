// A row of the kernel table from a vocabulary: the algorithms once, for every instruction set and every type.
// An instruction set that does better somewhere replaces that entry of its row.
#pragma once
#include "kernels/attention_body.h"
#include "kernels/float_matmul_body.h"
#include "kernels/matmul_body.h"
#include "kernels/row_body.h"
#include "kernels/table.h"
#include "kernels/words_body.h"
#include "quant/all.h"

namespace g4 {
namespace {
template <class V, class Type>
constexpr auto matmul_i8_or_null() {
  decltype(&matmul_i8<V, Q8_0>) function = nullptr;
  if constexpr (Type::kQuantised) function = &matmul_i8<V, Type>;
  return function;
}

// Words where the instruction set has their products, but for weights that it multiplies faster as bytes:
// all that are quantised, except those of 8 bits where bytes take several steps.
template <class V>
concept HasWords = requires(typename V::Ints a) {
  V::add_pairs(a, a, a);
};
template <class V>
constexpr auto matmul_words_or_null() {
  decltype(Kernels::matmul_words) function = nullptr;
  if constexpr (HasWords<V>) function = &matmul_words<V>;
  return function;
}
template <class V, class Type>
constexpr auto to_words_or_null() {
  constexpr bool slow_bytes = V::kRun[static_cast<size_t>(WeightRange::kSigned8)] == 1;
  decltype(&to_words<V, F32>) function = nullptr;
  if constexpr (HasWords<V> && (!Type::kQuantised || (Type::kType == DType::kQ8_0 && slow_bytes)))
    function = &to_words<V, Type>;
  return function;
}

template <class V, class... Types>
constexpr Kernels make_kernels(const char* name, uint32_t required_features, TypeList<Types...>) {
  return {
      .name = name,
      .required_features = required_features,
      .lanes = V::kLanes,
      .matmul_f32 = {&matmul_f32<V, Types>...},
      .matmul_i8 = {matmul_i8_or_null<V, Types>()...},
      .matmul_words = matmul_words_or_null<V>(),
      .to_words = {to_words_or_null<V, Types>()...},
      .quantize_row = &quantize_row<V>,
      .rms_norm = &rms_norm<V>,
      .add = &add<V>,
      .scale = &scale<V>,
      .gelu_mul = &gelu_mul<V>,
      .sigmoid_mul = &sigmoid_mul<V>,
      .softcap = &softcap<V>,
      .softmax = &update_softmax<V>,
      .rope = &rope<V>,
      .attend_page = {&attend_page<V, HalfRows>, &attend_page<V, FloatRows>, &attend_page<V, Q8Rows>},
      .store_kv = {&store_kv<V, HalfRows>, &store_kv<V, FloatRows>, &store_kv<V, Q8Rows>},
  };
}
}  // namespace
}  // namespace g4
