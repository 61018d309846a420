// The vocabulary of NEON (aarch64): 4 lanes. isa_generic.cc says what each word means.
#pragma once
#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#include "quant/codec.h"

namespace g4 {
namespace {
struct Neon {
  static constexpr int kLanes = 4;
  using Floats = float32x4_t;
  using Ints = int32x4_t;

  static Floats load(const float* p) { return vld1q_f32(p); }
  static void store(float* p, Floats a) { vst1q_f32(p, a); }
  static Floats broadcast(float x) { return vdupq_n_f32(x); }
  static Floats add(Floats a, Floats b) { return vaddq_f32(a, b); }
  static Floats sub(Floats a, Floats b) { return vsubq_f32(a, b); }
  static Floats mul(Floats a, Floats b) { return vmulq_f32(a, b); }
  static Floats div(Floats a, Floats b) { return vdivq_f32(a, b); }
  static Floats fma(Floats a, Floats b, Floats c) { return vfmaq_f32(c, a, b); }
  // Not vminq and vmaxq, which give NaN for NaN.
  static Floats min(Floats a, Floats b) { return select_less(a, b, a, b); }
  static Floats max(Floats a, Floats b) { return select_less(b, a, a, b); }
  static Floats select_less(Floats a, Floats b, Floats x, Floats y) {
    return vbslq_f32(vcltq_f32(a, b), x, y);
  }
  static float sum(Floats a) { return vaddv_f32(vadd_f32(vget_low_f32(a), vget_high_f32(a))); }

  static Ints load_ints(const uint8_t* p) { return vreinterpretq_s32_u8(vld1q_u8(p)); }
  static Ints widen(const uint16_t* p) { return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p))); }
  static Ints broadcast_int(uint32_t x) { return vreinterpretq_s32_u32(vdupq_n_u32(x)); }
  static Ints and_int(Ints a, Ints b) { return vandq_s32(a, b); }
  static Ints or_int(Ints a, Ints b) { return vorrq_s32(a, b); }
  static Ints add_int(Ints a, Ints b) { return vaddq_s32(a, b); }
  static Ints sub_int(Ints a, Ints b) { return vsubq_s32(a, b); }
  static Ints max_int(Ints a, Ints b) { return vmaxq_s32(a, b); }
  static Ints shift_left(Ints a, int count) { return vshlq_s32(a, vdupq_n_s32(count)); }
  static Ints shift_right(Ints a, int count) {
    return vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(a), vdupq_n_s32(-count)));
  }
  static Ints sub_bytes(Ints a, Ints b) { return vreinterpretq_s32_s8(vsubq_s8(bytes(a), bytes(b))); }

  static Floats to_float(Ints a) { return vcvtq_f32_s32(a); }
  static Ints bits(Floats a) { return vreinterpretq_s32_f32(a); }
  static Floats from_bits(Ints a) { return vreinterpretq_f32_s32(a); }

  static Floats load_half(const uint16_t* p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
  static Floats load_bytes(const uint8_t* p) {
    const int8x8_t four = vreinterpret_s8_u32(vdup_n_u32(load_u32(p)));
    return to_float(vmovl_s16(vget_low_s16(vmovl_s8(four))));
  }
  static void store_half(uint16_t* p, Floats a) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(a))); }
  static void store_integers(int8_t* p, Ints a) {
    const int16x4_t words = vmovn_s32(a);
    const uint32x2_t quads = vreinterpret_u32_s8(vmovn_s16(vcombine_s16(words, words)));
    const uint32_t quad = vget_lane_u32(quads, 0);
    memcpy(p, &quad, sizeof quad);
  }
  static void prefetch(const uint8_t* p) { __builtin_prefetch(p); }

  // Pairs of products are added in 16 bits: this many of them stay within 32767 for quads of each
  // WeightRange.
  static constexpr size_t kTileTokens = 4;
  static constexpr size_t kRun[] = {8, 4, 4, 1};
  template <WeightRange>
  static Ints add_products(Ints run, Ints weights, Ints activations) {
    const int8x16_t w = bytes(weights), x = bytes(activations);
    const int16x8_t pairs = vpaddq_s16(vmull_s8(vget_low_s8(w), vget_low_s8(x)), vmull_high_s8(w, x));
    return vreinterpretq_s32_s16(vaddq_s16(vreinterpretq_s16_s32(run), pairs));
  }
  static Ints end_run(Ints run) { return vpaddlq_s16(vreinterpretq_s16_s32(run)); }

 protected:
  static int8x16_t bytes(Ints a) { return vreinterpretq_s8_s32(a); }
};
}  // namespace
}  // namespace g4
