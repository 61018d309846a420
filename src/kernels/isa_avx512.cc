// AVX-512 without VNNI.
#include "base/cpu.h"
#include "kernels/avx512_words.h"
#include "kernels/body.h"

namespace g4 {
extern const Kernels kAvx512Kernels;
const Kernels kAvx512Kernels = make_kernels<Avx512>("avx512", kCpuAvx512, AllTypes());
}  // namespace g4
