// AVX2 with FMA and F16C: 8 lanes. isa_generic.cc says what each word means.
#include <immintrin.h>

#include "base/cpu.h"
#include "kernels/body.h"

namespace g4 {
namespace {
struct Avx2 {
  static constexpr int kLanes = 8;
  using Floats = __m256;
  using Ints = __m256i;

  static Floats load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Floats a) { _mm256_storeu_ps(p, a); }
  static Floats broadcast(float x) { return _mm256_set1_ps(x); }
  static Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
  static Floats sub(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
  static Floats mul(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
  static Floats div(Floats a, Floats b) { return _mm256_div_ps(a, b); }
  static Floats fma(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
  static Floats min(Floats a, Floats b) { return _mm256_min_ps(a, b); }
  static Floats max(Floats a, Floats b) { return _mm256_max_ps(a, b); }
  static Floats select_less(Floats a, Floats b, Floats x, Floats y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
  }
  static float sum(Floats a) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }

  static Ints load_ints(const uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static Ints widen(const uint16_t* p) { return _mm256_cvtepu16_epi32(load16(p)); }
  static Ints broadcast_int(uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static Ints and_int(Ints a, Ints b) { return _mm256_and_si256(a, b); }
  static Ints or_int(Ints a, Ints b) { return _mm256_or_si256(a, b); }
  static Ints add_int(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
  static Ints sub_int(Ints a, Ints b) { return _mm256_sub_epi32(a, b); }
  static Ints max_int(Ints a, Ints b) { return _mm256_max_epi32(a, b); }
  static Ints shift_left(Ints a, int count) { return _mm256_slli_epi32(a, count); }
  static Ints shift_right(Ints a, int count) { return _mm256_srli_epi32(a, count); }
  static Ints sub_bytes(Ints a, Ints b) { return _mm256_sub_epi8(a, b); }

  static Floats to_float(Ints a) { return _mm256_cvtepi32_ps(a); }
  static Ints bits(Floats a) { return _mm256_castps_si256(a); }
  static Floats from_bits(Ints a) { return _mm256_castsi256_ps(a); }

  static Floats load_half(const uint16_t* p) { return _mm256_cvtph_ps(load16(p)); }
  static Floats load_bytes(const uint8_t* p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  static void store_half(uint16_t* p, Floats a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }

  // maddubs adds pairs of products in 16 bits with saturation: this many of them stay within 32767 for quads
  // of each WeightRange: 8 * 2 * 15 * 127 = 30480, 4 * 2 * 31 * 127, 4 * 2 * 32 * 127, 2 * 128 * 127. It
  // wants the first factor unsigned: the sign of a weight moves to its activation.
  static constexpr size_t kTileTokens = 4;
  static constexpr size_t kRun[] = {8, 4, 4, 1};
  template <WeightRange range>
  static Ints add_products(Ints run, Ints weights, Ints activations) {
    if constexpr (range == WeightRange::kSigned6 || range == WeightRange::kSigned8) {
      activations = _mm256_sign_epi8(activations, weights);
      weights = _mm256_abs_epi8(weights);
    }
    run = _mm256_add_epi16(run, _mm256_maddubs_epi16(weights, activations));
    asm("" : "+x"(run));  // here and now: compilers like to add later, and run out of registers
    return run;
  }
  static Ints end_run(Ints run) { return _mm256_madd_epi16(run, _mm256_set1_epi16(1)); }
  static Ints add_pairs(Ints sums, Ints a, Ints b) {
    asm("vpaddd %1, %0, %0" : "+x"(sums) : "x"(_mm256_madd_epi16(a, b)));  // in place, and now
    return sums;
  }
  static void store_integers(int8_t* p, Ints a) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(to_words(a), to_words(a)));
  }
  static void store_integers(int16_t* p, Ints a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), to_words(a));
  }
  static void prefetch(const uint8_t* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }

 private:
  static __m128i to_words(Ints a) {
    return _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  }
  static __m128i load16(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
};
}  // namespace

extern const Kernels kAvx2Kernels;
const Kernels kAvx2Kernels = make_kernels<Avx2>("avx2", kCpuAvx2, AllTypes());
}  // namespace g4
