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

  static Ints broadcast_int(uint32_t x) { return _mm256_set1_epi32(static_cast<int>(x)); }
  static Ints and_int(Ints a, Ints b) { return _mm256_and_si256(a, b); }
  static Ints or_int(Ints a, Ints b) { return _mm256_or_si256(a, b); }
  static Ints sub_int(Ints a, Ints b) { return _mm256_sub_epi32(a, b); }
  static Ints max_int(Ints a, Ints b) { return _mm256_max_epi32(a, b); }
  static Ints shift_left(Ints a, int count) { return _mm256_slli_epi32(a, count); }
  static Ints shift_right(Ints a, int count) { return _mm256_srli_epi32(a, count); }
  static Ints sub_bytes(Ints a, Ints b) { return _mm256_sub_epi8(a, b); }

  static Floats to_float(Ints a) { return _mm256_cvtepi32_ps(a); }
  static Ints bits(Floats a) { return _mm256_castps_si256(a); }
  static Floats from_bits(Ints a) { return _mm256_castsi256_ps(a); }

  static Floats half_to_float(Ints a) {
    const __m256i low = _mm256_and_si256(a, _mm256_set1_epi32(0xffff));
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);
    return _mm256_cvtph_ps(_mm256_castsi256_si128(words));
  }
  static Floats load_half(const uint16_t* p) { return _mm256_cvtph_ps(load16(p)); }
  static Floats load_bytes(const uint8_t* p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  static void store_half(uint16_t* p, Floats a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }

  // Two transpositions of 4 x 4 quads side by side: rows 0-3 in the lower halves, rows 4-7 in the upper ones.
  static void load_quads(const uint8_t* rows, size_t stride, Ints out[4]) {
    const __m256i a = load_pair(rows, rows + 4 * stride);
    const __m256i b = load_pair(rows + stride, rows + 5 * stride);
    const __m256i c = load_pair(rows + 2 * stride, rows + 6 * stride);
    const __m256i d = load_pair(rows + 3 * stride, rows + 7 * stride);
    const __m256i ab01 = _mm256_unpacklo_epi32(a, b), ab23 = _mm256_unpackhi_epi32(a, b);
    const __m256i cd01 = _mm256_unpacklo_epi32(c, d), cd23 = _mm256_unpackhi_epi32(c, d);
    out[0] = _mm256_unpacklo_epi64(ab01, cd01);
    out[1] = _mm256_unpackhi_epi64(ab01, cd01);
    out[2] = _mm256_unpacklo_epi64(ab23, cd23);
    out[3] = _mm256_unpackhi_epi64(ab23, cd23);
  }

  // maddubs adds pairs of products in 16 bits with saturation. With weights of up to 6 bits 4 pairs fit, as
  // 8 * 32 * 127 = 32512; with 8 bits only one does, 2 * 128 * 127 = 32512. It wants the first factor
  // unsigned: the sign of a weight moves to its activation.
  template <WeightRange range>
  static Ints dot16(Ints sum, const Ints* quads, const int8_t* x) {
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i p0 = products<range>(quads[0], x), p1 = products<range>(quads[1], x + 4);
    const __m256i p2 = products<range>(quads[2], x + 8), p3 = products<range>(quads[3], x + 12);
    if constexpr (range == WeightRange::kSigned8) {
      const __m256i p01 = _mm256_add_epi32(_mm256_madd_epi16(p0, ones), _mm256_madd_epi16(p1, ones));
      const __m256i p23 = _mm256_add_epi32(_mm256_madd_epi16(p2, ones), _mm256_madd_epi16(p3, ones));
      return _mm256_add_epi32(sum, _mm256_add_epi32(p01, p23));
    } else {
      const __m256i pairs = _mm256_add_epi16(_mm256_add_epi16(p0, p1), _mm256_add_epi16(p2, p3));
      return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
    }
  }
  static void store_bytes(int8_t* p, Ints a) {
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, words));
  }
  static void prefetch(const uint8_t* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }

 private:
  static __m128i load16(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
  static __m256i load_pair(const uint8_t* low, const uint8_t* high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(load16(low)), load16(high), 1);
  }
  template <WeightRange range>
  static __m256i products(__m256i weights, const int8_t* x) {
    int32_t quad;
    memcpy(&quad, x, sizeof quad);
    const __m256i activations = _mm256_set1_epi32(quad);
    if constexpr (range == WeightRange::kUnsigned5) return _mm256_maddubs_epi16(weights, activations);
    return _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(activations, weights));
  }
};
}  // namespace

extern const Kernels kAvx2Kernels;
const Kernels kAvx2Kernels = make_kernels<Avx2>("avx2", kCpuAvx2, AllTypes());
}  // namespace g4
