// NEON with the dot product instructions (ARMv8.2): four products and their sum in 32 bits.
#include "base/cpu.h"
#include "kernels/body.h"
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

extern const Kernels kNeonDotprodKernels;
const Kernels kNeonDotprodKernels =
    make_kernels<NeonDotprod>("neon_dotprod", kCpuNeon | kCpuNeonDotprod, AllTypes());
}  // namespace g4
