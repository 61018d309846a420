// AVX-512 with VNNI.
#include "base/cpu.h"
#include "kernels/avx512vnni_words.h"
#include "kernels/body.h"

namespace g4 {
extern const Kernels kAvx512VnniKernels;
const Kernels kAvx512VnniKernels =
    make_kernels<Avx512Vnni>("avx512vnni", kCpuAvx512 | kCpuAvx512Vnni, AllTypes());
}  // namespace g4
