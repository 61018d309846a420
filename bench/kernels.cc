// Speed of the matrix products, per kernel row and tensor type, and of attention: bytes of weights read per
// second for one token (decode) and operations per second for several (prefill), beside what the same threads
// reach when they only read, and when they only multiply and add bytes.
//
//   g4_bench_kernels [threads] [row] [type]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cpu.h"
#include "base/thread_pool.h"
#include "kernels/table.h"

namespace {
using namespace g4;

constexpr size_t kWeightBytes = size_t{256} << 20;  // more than any cache
constexpr size_t kCols = 1536, kPrefillRows = 1536;
constexpr int kRepeats = 5;

// Seconds of the fastest of some calls, the first of which only warms up.
template <typename Body>
double fastest(Body&& body) {
  double best = 1e30;
  for (int i = 0; i <= kRepeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    if (i > 0) best = std::min(best, seconds.count());
  }
  return best;
}

// Sums the bytes, eight at a time in several sums, so that only memory limits it.
uint64_t read_all(const uint8_t* bytes, size_t count) {
  uint64_t sums[8] = {};
  for (size_t i = 0; i + 64 <= count; i += 64) {
    uint64_t words[8];
    std::memcpy(words, bytes + i, sizeof words);
    for (int j = 0; j < 8; ++j) sums[j] += words[j];
  }
  uint64_t sum = 0;
  for (const uint64_t s : sums) sum ^= s;
  return sum;
}

// ---- Rates of byte products alone: rounds of independent steps. Each returns what depends on all of them.

#if defined(__x86_64__)
#define G4_TARGET(flags) __attribute__((target(flags)))

// 8 steps of 32 products, with sums in 16 bits.
G4_TARGET("avx2") int multiply_avx2(size_t rounds) {
  __m256i sums[8], bytes = _mm256_set1_epi8(3);
  for (__m256i& sum : sums) sum = bytes;
  for (size_t i = 0; i < rounds; ++i)
    for (__m256i& sum : sums) {
      asm("" : "+x"(bytes));  // a new product each time
      sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(bytes, bytes));
    }
  for (const __m256i& sum : sums) bytes = _mm256_xor_si256(bytes, sum);
  return _mm256_extract_epi32(bytes, 0);
}

// 16 steps of 64 products, with sums in 32 bits.
G4_TARGET("avx512f,avx512vnni") int multiply_vnni(size_t rounds) {
  __m512i sums[16], bytes = _mm512_set1_epi32(0x03030303);
  for (__m512i& sum : sums) sum = bytes;
  for (size_t i = 0; i < rounds; ++i)
    for (__m512i& sum : sums) sum = _mm512_dpbusd_epi32(sum, bytes, bytes);
  for (const __m512i& sum : sums) bytes = _mm512_xor_si512(bytes, sum);
  int values[16];
  _mm512_storeu_si512(values, bytes);
  return values[0];
}

// 4 steps of 16 x 16 x 64 products.
G4_TARGET("amx-tile,amx-int8") int multiply_amx(size_t rounds) {
  alignas(64) uint8_t shapes[64] = {1};
  for (int tile = 0; tile < 6; ++tile) shapes[16 + 2 * tile] = 64, shapes[48 + tile] = 16;
  alignas(64) int32_t values[16][16] = {{0x03030303}};
  asm volatile("" ::: "memory");  // GCC does not know that tiles are loaded from memory
  _tile_loadconfig(shapes);
  _tile_loadd(0, values, 64);
  _tile_loadd(1, values, 64);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  for (size_t i = 0; i < rounds; ++i) {
    _tile_dpbssd(2, 0, 1);
    _tile_dpbssd(3, 0, 1);
    _tile_dpbssd(4, 0, 1);
    _tile_dpbssd(5, 0, 1);
  }
  _tile_stored(5, values, 64);
  _tile_release();
  return values[0][0];
}
#undef G4_TARGET
#endif

struct Peak {
  const char* name;
  uint32_t feature;
  double products;  // of a round
  int (*multiply)(size_t rounds);
};
const std::vector<Peak> kPeaks = {
#if defined(__x86_64__)
    {"AVX2", kCpuAvx2, 8 * 32, &multiply_avx2},
    {"AVX512-VNNI", kCpuAvx512Vnni, 16 * 64, &multiply_vnni},
    {"AMX", kCpuAmxInt8, 4 * 16 * 16 * 64, &multiply_amx},
#endif
};

class Bench {
 public:
  Bench(const Kernels& row, ThreadPool& pool)
      : row_(row), pool_(pool), weights_(kWeightBytes), x_(512 * kCols, 0.3f) {
    std::mt19937_64 random(1);
    for (size_t i = 0; i < kWeightBytes; i += 8) {
      const uint64_t bits = random() & 0xbfffbfffbfffbfff;  // no binary16 or bfloat16 of it is infinite
      std::memcpy(&weights_[i], &bits, sizeof bits);
    }
    q_.resize(x_.size());
    scale_.resize(x_.size() / kActivationBlock);
    sum_.resize(scale_.size());
    row.quantize_row(x_.data(), x_.size(), q_.data(), scale_.data(), sum_.data());
  }

  void read() {
    std::vector<uint64_t> sums(static_cast<size_t>(pool_.size()));
    const double seconds = fastest([&] {
      pool_.parallel_for(kWeightBytes, 4096, [&](size_t begin, size_t end) {
        sums[begin * sums.size() / kWeightBytes] = read_all(&weights_[begin], end - begin);
      });
    });
    std::printf("only reading: %.1f GB/s (%llx)\n", kWeightBytes / seconds / 1e9,
                static_cast<unsigned long long>(sums[0]));
  }

  void peaks() {
    constexpr double kProducts = 2.56e8;  // of a thread
    std::vector<int> sums(static_cast<size_t>(pool_.size()));
    for (const Peak& peak : kPeaks) {
      if ((detect_cpu_features() & peak.feature) != peak.feature) continue;
      const size_t rounds = static_cast<size_t>(kProducts / peak.products);
      const double seconds = fastest(
          [&] { pool_.for_each(sums.size(), [&](int, size_t i) { sums[i] = peak.multiply(rounds); }); });
      std::printf("only multiplying bytes, %s: %.0f GOP/s (%x)\n", peak.name,
                  2 * peak.products * static_cast<double>(rounds * sums.size()) / seconds / 1e9,
                  static_cast<unsigned>(sums[0]));
    }
  }

  void product(DType type, bool int8) {
    if (int8 && row_.matmul_i8[static_cast<size_t>(type)] == nullptr) return;
    print(dtype_info(type).name, int8 ? "int8" : "f32", row_bytes(type, kCols),
          [&](size_t N, size_t T) { multiply(type, int8, N, T); });
  }

  void words() {
    constexpr size_t kBlocks = word_blocks(kCols), kRowBytes = kBlocks * sizeof(WordBlock);
    if (row_.matmul_words == nullptr) return;
    std::vector<WordBlock> x(512 * kBlocks);
    for (size_t t = 0; t < 512; ++t)
      row_.to_words[static_cast<size_t>(DType::kF32)](reinterpret_cast<const uint8_t*>(&x_[t * kCols]), kCols,
                                                      reinterpret_cast<uint8_t*>(&x[t * kBlocks]), 1);
    print("words", "", kRowBytes, [&](size_t N, size_t T) {
      pool_.parallel_for(N, 32, [&](size_t begin, size_t end) {
        row_.matmul_words(&weights_[begin * kRowBytes], end - begin, kCols, x.data(), T, &y_[begin], N);
      });
    });
  }

  // Query rows of one head to 256 positions of 512 values, over and over, as prefill and decoding do.
  void attend(KvType type, const char* name) {
    constexpr size_t E = 512, kPages = 8, kRows = 64, kRounds = 8;
    const size_t row_bytes = kv_row_bytes(type, E), page_bytes = kPagePositions * row_bytes;
    std::vector<uint8_t> kv(2 * kPages * page_bytes);
    for (size_t i = 0; i < 2 * kPages * kPagePositions; ++i)
      row_.store_kv[static_cast<size_t>(type)](&x_[i], E, &kv[i * row_bytes]);
    std::printf("attention, %s", name);
    for (const size_t G : {kRows, size_t{8}, size_t{4}}) {
      const size_t rounds = kRounds * kRows / G;
      const double seconds = fastest([&] {
        pool_.for_each(static_cast<size_t>(pool_.size()), [&](int, size_t) {
          std::vector<float> out(G * E);
          std::vector<SoftmaxState> states(G, {-1e30f, 0});
          std::vector<const float*> queries;
          std::vector<float*> outs;
          for (size_t g = 0; g < G; ++g) queries.push_back(&x_[g * E]), outs.push_back(&out[g * E]);
          for (size_t page = 0; page < rounds * kPages; ++page) {
            const uint8_t* k = &kv[page % kPages * page_bytes];
            row_.attend_page[static_cast<size_t>(type)](queries.data(), G, E, k, k + kPages * page_bytes, 0,
                                                        kPagePositions, states.data(), outs.data());
          }
        });
      });
      const size_t products =
          2 * G * E * kPagePositions * kPages * rounds * static_cast<size_t>(pool_.size());
      std::printf("  %zu rows %5.1f GFLOP/s", G, 2.0 * static_cast<double>(products) / seconds / 1e9);
    }
    std::printf("\n");
  }

 private:
  // One line for a product of N rows with T tokens.
  template <typename Multiply>
  void print(const char* weights, const char* inputs, size_t bytes_of_row, Multiply multiply) {
    const size_t N = kWeightBytes / bytes_of_row / 64 * 64;
    y_.resize(std::max(8 * N, 512 * kPrefillRows));
    const double seconds = fastest([&] { multiply(N, size_t{1}); });
    std::printf("%-5s %-4s %5.1f GB/s", weights, inputs,
                static_cast<double>(N * bytes_of_row) / seconds / 1e9);
    for (const size_t T : {2, 4, 8, 64, 512}) {
      const size_t rows = T <= 8 ? N : kPrefillRows;  // few tokens: the weights come from memory
      const double operations = 2.0 * static_cast<double>(rows * kCols * T);
      std::printf("  T=%zu %6.1f GOP/s", T, operations / fastest([&] { multiply(rows, T); }) / 1e9);
    }
    std::printf("\n");
  }

  void multiply(DType type, bool int8, size_t N, size_t T) {
    const size_t t = static_cast<size_t>(type), stride = row_bytes(type, kCols);
    const QuantizedActivations x{q_.data(), scale_.data(), sum_.data()};
    pool_.parallel_for(N, 32, [&](size_t begin, size_t end) {
      const uint8_t* w = &weights_[begin * stride];
      if (int8)
        row_.matmul_i8[t](w, end - begin, kCols, &x, T, &y_[begin], N);
      else
        row_.matmul_f32[t](w, end - begin, kCols, x_.data(), kCols, T, &y_[begin], N);
    });
  }

  const Kernels& row_;
  ThreadPool& pool_;
  std::vector<uint8_t> weights_;
  std::vector<float> x_, scale_, sum_, y_;
  std::vector<int8_t> q_;
};
}  // namespace

int main(int argc, char** argv) {
  const auto pool =
      ThreadPool::create(argc > 1 ? std::atoi(argv[1]) : static_cast<int>(physical_cores().size()));
  const Kernels* row = select_kernels(detect_cpu_features(), argc > 2 ? argv[2] : nullptr);
  if (!pool.ok() || row == nullptr) {
    std::fprintf(stderr, "usage: g4_bench_kernels [threads] [row this machine runs] [tensor type]\n");
    return 2;
  }
  std::printf("row %s, %d threads, %zu columns\n", row->name, (*pool)->size(), kCols);
  Bench bench(*row, **pool);
  bench.read();
  bench.peaks();
  bench.attend(KvType::kF16, "f16");
  bench.attend(KvType::kF32, "f32");
  bench.attend(KvType::kQ8_0, "q8_0");
  bench.words();
  for (int type = 0; type < kDTypeCount; ++type) {
    if (argc > 3 && std::strcmp(argv[3], dtype_info(static_cast<DType>(type)).name) != 0) continue;
    for (const bool int8 : {true, false}) bench.product(static_cast<DType>(type), int8);
  }
  return 0;
}
