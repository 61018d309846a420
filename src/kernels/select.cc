#include <string.h>

#include "kernels/table.h"

namespace g4 {
extern const Kernels kGenericKernels, kAvx2Kernels, kAvx512Kernels, kAvx512VnniKernels, kAmxKernels,
    kNeonKernels, kNeonDotprodKernels, kNeonI8mmKernels;

namespace {
// Best first. cmake/isa.cmake defines G4_ISA_<NAME> for the rows of this build's processor.
const Kernels* const kRows[] = {
#ifdef G4_ISA_AMX
    &kAmxKernels,
#endif
#ifdef G4_ISA_AVX512VNNI
    &kAvx512VnniKernels,
#endif
#ifdef G4_ISA_AVX512
    &kAvx512Kernels,
#endif
#ifdef G4_ISA_AVX2
    &kAvx2Kernels,
#endif
#ifdef G4_ISA_NEON_I8MM
    &kNeonI8mmKernels,
#endif
#ifdef G4_ISA_NEON_DOTPROD
    &kNeonDotprodKernels,
#endif
#ifdef G4_ISA_NEON
    &kNeonKernels,
#endif
    &kGenericKernels,
};
}  // namespace

const Kernels* const* kernel_rows(size_t* count) {
  *count = sizeof kRows / sizeof kRows[0];
  return kRows;
}

const Kernels* select_kernels(uint32_t features, const char* name) {
  for (const Kernels* row : kRows) {
    const bool wanted = name == nullptr || strcmp(name, row->name) == 0;
    if (wanted && (row->required_features & ~features) == 0) return row;
  }
  return nullptr;
}
}  // namespace g4
