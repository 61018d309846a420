// AMX with int8, on top of AVX-512 with VNNI, which does all but the integer products of many tokens.
#include "base/cpu.h"
#include "kernels/avx512vnni_words.h"
#include "kernels/body.h"

namespace g4 {
namespace {
struct Amx : Avx512Vnni {
  static constexpr size_t kTileTokens = 16, kFewestTokens = 8;

  // A tile of activations, a token a row, times one of weights: quads of a group as they lie in a panel.
  // Their shapes are those of set_tile_shapes.
  template <size_t kQuads, size_t kTokens>
  requires(kTokens == kTileTokens || kTokens == kFewestTokens) static void multiply_matrices(
      const Ints* const (&quads)[1], const int8_t* x, size_t K, Ints (&dots)[1][kTokens]) {
    asm volatile("" ::: "memory");  // GCC does not know that loading a tile reads memory
    _tile_loadd(0, quads[0], sizeof(Ints));
    if constexpr (kTokens == kTileTokens) {
      _tile_loadd(1, x, K);
      _tile_zero(2);
      _tile_dpbssd(2, 1, 0);
      _tile_stored(2, dots[0], sizeof(Ints));
    } else {
      _tile_loadd(3, x, K);
      _tile_zero(4);
      _tile_dpbssd(4, 3, 0);
      _tile_stored(4, dots[0], sizeof(Ints));
    }
  }
};

// Gives this thread's tiles their shapes, until _tile_release().
void set_tile_shapes(size_t quads) {
  constexpr uint8_t kMost = Amx::kTileTokens, kFewest = Amx::kFewestTokens;
  const uint8_t rows = static_cast<uint8_t>(quads), bytes = static_cast<uint8_t>(4 * quads);
  const struct {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16];
    uint8_t rows[16];
  } shapes = {.row_bytes = {64, bytes, 64, bytes, 64}, .rows = {rows, kMost, kMost, kFewest, kFewest}};
  static_assert(sizeof shapes == 64);
  asm volatile("" ::"r"(&shapes) : "memory");  // GCC does not know that all of it is read
  _tile_loadconfig(&shapes);
}

template <class Type>
void matmul_i8_in_tiles(const uint8_t* w, size_t N, size_t K, const QuantizedActivations* x, size_t T,
                        float* y, size_t ldy) {
  if (T <= kFewTokens) return matmul_i8<Amx, Type>(w, N, K, x, T, y, ldy);
  set_tile_shapes(Type::kScaleValues / 4);
  matmul_i8<Amx, Type>(w, N, K, x, T, y, ldy);
  _tile_release();
}

template <class... Types>
constexpr Kernels make_amx_kernels(TypeList<Types...> types) {
  Kernels row = make_kernels<Amx>("amx", kCpuAvx512 | kCpuAvx512Vnni | kCpuAmxInt8, types);
  const auto replace = [&row]<class Type>(Type) {
    if constexpr (Type::kQuantised)
      row.matmul_i8[static_cast<size_t>(Type::kType)] = &matmul_i8_in_tiles<Type>;
  };
  (replace(Types()), ...);
  return row;
}
}  // namespace

extern const Kernels kAmxKernels;
const Kernels kAmxKernels = make_amx_kernels(AllTypes());
}  // namespace g4
