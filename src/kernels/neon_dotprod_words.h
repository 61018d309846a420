// The vocabulary of NEON with the dot product instructions (ARMv8.2): four products and their sum in 32 bits.
#pragma once
#include "kernels/neon_words.h"

namespace g4 {
namespace {
struct NeonDotprod : Neon {
  static constexpr size_t kRun[] = {8, 8, 8, 8};
  template <WeightRange>
  static Ints add_products(Ints run, Ints weights, Ints activations) {
    return vdotq_s32(run, bytes(weights), bytes(activations));
  }
  static Ints end_run(Ints run) { return run; }
};
}  // namespace
}  // namespace g4
