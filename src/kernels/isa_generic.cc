// The vocabulary in plain C++: what every word means, and the row all others are compared with. A new
// instruction set is one file like this one: the same words on wider vectors.
#include "kernels/body.h"

namespace g4 {
namespace {
struct Generic {
  static constexpr int kLanes = 4;
  struct Floats {
    float v[kLanes];
  };
  struct Ints {
    uint32_t v[kLanes];
  };  // 32-bit integers, or quads of bytes, the first byte lowest

  template <class Result, class Function>
  static Result each(Function function) {
    Result result;
    for (int i = 0; i < kLanes; ++i) result.v[i] = function(i);
    return result;
  }

  // Floats. Unaligned loads and stores.
  static Floats load(const float* p) {
    return each<Floats>([=](int i) { return p[i]; });
  }
  static void store(float* p, Floats a) { memcpy(p, a.v, sizeof a.v); }
  static Floats broadcast(float x) {
    return each<Floats>([=](int) { return x; });
  }
  static Floats add(Floats a, Floats b) {
    return each<Floats>([&](int i) { return a.v[i] + b.v[i]; });
  }
  static Floats sub(Floats a, Floats b) {
    return each<Floats>([&](int i) { return a.v[i] - b.v[i]; });
  }
  static Floats mul(Floats a, Floats b) {
    return each<Floats>([&](int i) { return a.v[i] * b.v[i]; });
  }
  static Floats div(Floats a, Floats b) {
    return each<Floats>([&](int i) { return a.v[i] / b.v[i]; });
  }
  // a * b + c; rounded once where the processor can.
  static Floats fma(Floats a, Floats b, Floats c) {
    return each<Floats>([&](int i) { return a.v[i] * b.v[i] + c.v[i]; });
  }
  // b where either is NaN.
  static Floats min(Floats a, Floats b) {
    return each<Floats>([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
  }
  static Floats max(Floats a, Floats b) {
    return each<Floats>([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  // a < b ? x : y
  static Floats select_less(Floats a, Floats b, Floats x, Floats y) {
    return each<Floats>([&](int i) { return a.v[i] < b.v[i] ? x.v[i] : y.v[i]; });
  }
  static float sum(Floats a) { return (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]); }

  // Integers; arithmetic wraps, shifts fill with zeros. Unaligned load of 4 bytes, or 2 filled up with zeros,
  // for each lane.
  static Ints load_ints(const uint8_t* p) {
    return each<Ints>([=](int i) { return load_u32(p + 4 * i); });
  }
  static Ints widen(const uint16_t* p) {
    return each<Ints>([=](int i) { return uint32_t{p[i]}; });
  }
  static Ints broadcast_int(uint32_t x) {
    return each<Ints>([=](int) { return x; });
  }
  static Ints and_int(Ints a, Ints b) {
    return each<Ints>([&](int i) { return a.v[i] & b.v[i]; });
  }
  static Ints or_int(Ints a, Ints b) {
    return each<Ints>([&](int i) { return a.v[i] | b.v[i]; });
  }
  static Ints add_int(Ints a, Ints b) {
    return each<Ints>([&](int i) { return a.v[i] + b.v[i]; });
  }
  static Ints sub_int(Ints a, Ints b) {
    return each<Ints>([&](int i) { return a.v[i] - b.v[i]; });
  }
  // The greater as signed numbers.
  static Ints max_int(Ints a, Ints b) {
    return each<Ints>(
        [&](int i) { return static_cast<int32_t>(a.v[i]) > static_cast<int32_t>(b.v[i]) ? a.v[i] : b.v[i]; });
  }
  static Ints shift_left(Ints a, int count) {
    return each<Ints>([&](int i) { return a.v[i] << count; });
  }
  static Ints shift_right(Ints a, int count) {
    return each<Ints>([&](int i) { return a.v[i] >> count; });
  }
  // Byte by byte.
  static Ints sub_bytes(Ints a, Ints b) {
    return each<Ints>([&](int i) {
      uint32_t result = 0;
      for (int j = 0; j < 32; j += 8) result |= (((a.v[i] >> j) - (b.v[i] >> j)) & 0xffu) << j;
      return result;
    });
  }

  // Signed integer to float; the bits of a float as an integer, and back.
  static Floats to_float(Ints a) {
    return each<Floats>([&](int i) { return static_cast<float>(static_cast<int32_t>(a.v[i])); });
  }
  static Ints bits(Floats a) {
    Ints result;
    memcpy(result.v, a.v, sizeof result.v);
    return result;
  }
  static Floats from_bits(Ints a) {
    Floats result;
    memcpy(result.v, a.v, sizeof result.v);
    return result;
  }

  // binary16: from memory, and to memory (nearest even; the input is finite and in range, or NaN).
  static Floats load_half(const uint16_t* p) {
    return each<Floats>([=](int i) { return g4::half_to_float(p[i]); });
  }
  // int8 from memory.
  static Floats load_bytes(const uint8_t* p) {
    return each<Floats>([=](int i) { return static_cast<float>(static_cast<int8_t>(p[i])); });
  }
  static void store_half(uint16_t* p, Floats a) {
    const Ints raw = bits(a);
    for (int i = 0; i < kLanes; ++i) p[i] = round_to_half(raw.v[i]);
  }

  // Sums of products of int8, exact: add_products adds to lane i of `run` those of the 4 weights of lane i
  // with 4 activations (|x| <= 127), which all lanes share. A run begins with 0 and has up to kRun[range]
  // steps; end_run makes 32-bit integers of it.
  static constexpr size_t kTileTokens = 4;  // tokens that the integer products take at a time
  static constexpr size_t kRun[] = {8, 8, 8, 8};
  template <WeightRange>
  static Ints add_products(Ints run, Ints weights, Ints activations) {
    return each<Ints>([=](int i) {
      int32_t total = static_cast<int32_t>(run.v[i]);
      for (int j = 0; j < 32; j += 8)
        total += static_cast<int8_t>(weights.v[i] >> j) * static_cast<int8_t>(activations.v[i] >> j);
      return static_cast<uint32_t>(total);
    });
  }
  static Ints end_run(Ints run) { return run; }
  // Optional: multiply_matrices<kQuads>(quads, x, K, dots) in place of add_products and end_run, for the
  // sizes of dots (groups and tokens) that it is defined for; dot_quads of matmul_body.h says what it does.

  // Sums of products of int16: adds to lane i of `sums` those of the 2 words of lane i. Only where the
  // instruction set has it in one step.
  static Ints add_pairs(Ints sums, Ints a, Ints b) {
    return each<Ints>([=](int i) {
      const auto product = [=](int at) {
        return static_cast<uint32_t>(static_cast<int16_t>(a.v[i] >> at) * static_cast<int16_t>(b.v[i] >> at));
      };
      return sums.v[i] + product(0) + product(16);
    });
  }

  // Integers in range of the type to memory.
  static void store_integers(int8_t* p, Ints a) {
    for (int i = 0; i < kLanes; ++i) p[i] = static_cast<int8_t>(a.v[i]);
  }
  static void store_integers(int16_t* p, Ints a) {
    for (int i = 0; i < kLanes; ++i) p[i] = static_cast<int16_t>(a.v[i]);
  }
  static void prefetch(const uint8_t*) {}

 private:
  static uint16_t round_to_half(uint32_t raw) {
    const uint32_t sign = raw >> 16 & 0x8000u, magnitude = raw & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);  // NaN
    // Adding 1/2 aligns a number below the normal halves (2^-14) so that its last bit is that of the
    // subnormal halves, 2^-24.
    if (magnitude < 0x38800000u) {
      const Floats sum = broadcast(float_from_bits(magnitude) + 0.5f);
      return static_cast<uint16_t>(sign | (bits(sum).v[0] - 0x3f000000u));
    }
    const uint32_t odd = magnitude >> 13 & 1;
    return static_cast<uint16_t>(sign | ((magnitude + 0xfffu + odd - (112u << 23)) >> 13));
  }
};
}  // namespace

extern const Kernels kGenericKernels;
const Kernels kGenericKernels = make_kernels<Generic>("generic", 0, AllTypes());
}  // namespace g4
