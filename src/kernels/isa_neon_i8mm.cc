// NEON with products of small matrices (i8mm): 2 tokens by 8 columns times 8 columns by 2 rows.
#include "base/cpu.h"
#include "kernels/body.h"
#include "kernels/neon_dotprod_words.h"

namespace g4 {
namespace {
struct NeonI8mm : NeonDotprod {
  static constexpr size_t kPairs = kTileTokens / 2;  // of tokens

  template <size_t kQuads, size_t kGroups>
  static void multiply_matrices(const Ints* const (&quads)[kGroups], const int8_t* x, size_t K,
                                Ints (&dots)[kGroups][kTileTokens]) {
    Ints sums[kGroups][2][kPairs] = {};  // of the lower or upper two rows of a group: [token][row]
    for (size_t i = 0; i < kQuads; i += 2, x += 8) {
      int8x16_t tokens[kPairs];
      for (size_t p = 0; p < kPairs; ++p)
        tokens[p] = vcombine_s8(vld1_s8(x + 2 * p * K), vld1_s8(x + (2 * p + 1) * K));
      for (size_t g = 0; g < kGroups; ++g) {
        // Two quads of each of four rows: eight columns of the lower and of the upper two rows.
        const Ints first = quads[g][i], second = quads[g][i + 1];
        const int8x16_t rows[2] = {bytes(vzip1q_s32(first, second)), bytes(vzip2q_s32(first, second))};
        for (size_t half = 0; half < 2; ++half)
          for (size_t p = 0; p < kPairs; ++p)
            sums[g][half][p] = vmmlaq_s32(sums[g][half][p], tokens[p], rows[half]);
      }
    }
    for (size_t g = 0; g < kGroups; ++g)
      for (size_t p = 0; p < kPairs; ++p) {
        const int64x2_t lower = vreinterpretq_s64_s32(sums[g][0][p]);
        const int64x2_t upper = vreinterpretq_s64_s32(sums[g][1][p]);
        dots[g][2 * p] = vreinterpretq_s32_s64(vzip1q_s64(lower, upper));
        dots[g][2 * p + 1] = vreinterpretq_s32_s64(vzip2q_s64(lower, upper));
      }
  }
};
}  // namespace

extern const Kernels kNeonI8mmKernels;
const Kernels kNeonI8mmKernels =
    make_kernels<NeonI8mm>("neon_i8mm", kCpuNeon | kCpuNeonDotprod | kCpuNeonI8mm, AllTypes());
}  // namespace g4
