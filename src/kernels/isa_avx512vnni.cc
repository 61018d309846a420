// AVX-512 with VNNI: four products and their sum in 32 bits in one instruction.
#include "base/cpu.h"
#include "kernels/avx512_words.h"
#include "kernels/body.h"

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
};
}  // namespace

extern const Kernels kAvx512VnniKernels;
const Kernels kAvx512VnniKernels =
    make_kernels<Avx512Vnni>("avx512vnni", kCpuAvx512 | kCpuAvx512Vnni, AllTypes());
}  // namespace g4
