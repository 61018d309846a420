// NEON as every aarch64 processor has it.
#include "base/cpu.h"
#include "kernels/body.h"
#include "kernels/neon_words.h"

namespace g4 {
extern const Kernels kNeonKernels;
const Kernels kNeonKernels = make_kernels<Neon>("neon", kCpuNeon, AllTypes());
}  // namespace g4
