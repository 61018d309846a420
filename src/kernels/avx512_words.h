// The vocabulary of AVX-512 (F, BW, DQ, VL): 16 lanes. isa_generic.cc says what each word means.
#pragma once
#include <immintrin.h>
#include <stdint.h>

#include "quant/codec.h"

namespace g4 {
namespace {
struct Avx512 {
  static constexpr int kLanes = 16;
  using Floats = __m512;
  using Ints = __m512i;

  static Floats load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Floats a) { _mm512_storeu_ps(p, a); }
  static Floats broadcast(float x) { return _mm512_set1_ps(x); }
  static Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
  static Floats sub(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
  static Floats mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  static Floats div(Floats a, Floats b) { return _mm512_div_ps(a, b); }
  static Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  static Floats min(Floats a, Floats b) { return _mm512_min_ps(a, b); }
  static Floats max(Floats a, Floats b) { return _mm512_max_ps(a, b); }
  static Floats select_less(Floats a, Floats b, Floats x, Floats y) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
  }
  static float sum(Floats a) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }

  static Ints load_ints(const uint8_t* p) { return _mm512_loadu_si512(p); }
  static Ints widen(const uint16_t* p) { return _mm512_cvtepu16_epi32(load32(p)); }
  static Ints broadcast_int(uint32_t x) { return _mm512_set1_epi32(static_cast<int>(x)); }
  static Ints and_int(Ints a, Ints b) { return _mm512_and_si512(a, b); }
  static Ints or_int(Ints a, Ints b) { return _mm512_or_si512(a, b); }
  static Ints add_int(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
  static Ints sub_int(Ints a, Ints b) { return _mm512_sub_epi32(a, b); }
  static Ints max_int(Ints a, Ints b) { return _mm512_max_epi32(a, b); }
  static Ints shift_left(Ints a, int count) { return _mm512_slli_epi32(a, static_cast<unsigned>(count)); }
  static Ints shift_right(Ints a, int count) { return _mm512_srli_epi32(a, static_cast<unsigned>(count)); }
  static Ints sub_bytes(Ints a, Ints b) { return _mm512_sub_epi8(a, b); }

  static Floats to_float(Ints a) { return _mm512_cvtepi32_ps(a); }
  static Ints bits(Floats a) { return _mm512_castps_si512(a); }
  static Floats from_bits(Ints a) { return _mm512_castsi512_ps(a); }

  static Floats load_half(const uint16_t* p) { return _mm512_cvtph_ps(load32(p)); }
  static Floats load_bytes(const uint8_t* p) {
    return to_float(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  static void store_half(uint16_t* p, Floats a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static void store_integers(int8_t* p, Ints a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a));
  }
  static void store_integers(int16_t* p, Ints a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(a));
  }
  static void prefetch(const uint8_t* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0); }

  // As on AVX2 (isa_avx2.cc), where the reasons stand.
  static constexpr size_t kTileTokens = 4;
  static constexpr size_t kRun[] = {8, 4, 4, 1};
  template <WeightRange range>
  static Ints add_products(Ints run, Ints weights, Ints activations) {
    make_unsigned<range>(&weights, &activations);
    run = _mm512_add_epi16(run, _mm512_maddubs_epi16(weights, activations));
    asm("" : "+v"(run));
    return run;
  }
  static Ints end_run(Ints run) { return _mm512_madd_epi16(run, _mm512_set1_epi16(1)); }
  static Ints add_pairs(Ints sums, Ints a, Ints b) {
    sums = _mm512_add_epi32(sums, _mm512_madd_epi16(a, b));
    asm("" : "+v"(sums));
    return sums;
  }

 protected:
  // Moves the signs of weights that have one to their activations.
  template <WeightRange range>
  static void make_unsigned(Ints* weights, Ints* activations) {
    if constexpr (range == WeightRange::kSigned6 || range == WeightRange::kSigned8) {
      const __mmask64 negative = _mm512_movepi8_mask(*weights);
      *activations = _mm512_mask_sub_epi8(*activations, negative, _mm512_setzero_si512(), *activations);
      *weights = _mm512_abs_epi8(*weights);
    }
  }

 private:
  static __m256i load32(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
};
}  // namespace
}  // namespace g4
