// The vocabulary of AVX-512 with VNNI: four products and their sum in 32 bits in one instruction.
#pragma once
#include "kernels/avx512_words.h"

namespace g4 {
namespace {
struct Avx512Vnni : Avx512 {
  static constexpr size_t kRun[] = {8, 8, 8, 8};
  template <WeightRange range>
  static Ints add_products(Ints run, Ints weights, Ints activations) {
    make_unsigned<range>(&weights, &activations);
    return _mm512_dpbusd_epi32(run, weights, activations);
  }
  static Ints end_run(Ints run) { return run; }
  static Ints add_pairs(Ints sums, Ints a, Ints b) { return _mm512_dpwssd_epi32(sums, a, b); }
};
}  // namespace
}  // namespace g4
