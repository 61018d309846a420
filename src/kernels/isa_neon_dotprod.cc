// NEON with the dot product instructions.
#include "base/cpu.h"
#include "kernels/body.h"
#include "kernels/neon_dotprod_words.h"

namespace g4 {
extern const Kernels kNeonDotprodKernels;
const Kernels kNeonDotprodKernels =
    make_kernels<NeonDotprod>("neon_dotprod", kCpuNeon | kCpuNeonDotprod, AllTypes());
}  // namespace g4
