// Encodes one picture of 768 x 768 pixels, with at most 280 tokens, and one sound of 10 s, and writes the
// seconds of each call, and the processor seconds of all threads, as JSON. bench/peer_media.cc does the same
// with llama.cpp, bench/compare_media compares the two.
//
//   g4_bench_media MMPROJ TEXT_HIDDEN_SIZE THREADS REPEATS [kernel row]
//
// bench/synthetic_mmproj.py writes a file of the released sizes with random weights.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "media/encode.h"

namespace {
using namespace g4;

// body() gives the tokens. Writes "name": {"tokens": .., "seconds": [..], "processor_seconds": [..]}.
template <typename Body>
void measure(const char* name, int repeats, Body&& body) {
  std::string wall, processor;
  size_t tokens = 0;
  for (int i = 0; i < repeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t processor_begin = std::clock();
    const StatusOr<size_t> result = body();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (!result.ok()) {
      std::fprintf(stderr, "%s: %s\n", name, std::string(result.status().message()).c_str());
      std::exit(1);
    }
    tokens = *result;
    const char* comma = i == 0 ? "" : ", ";
    wall += comma + std::to_string(taken.count());
    processor += comma + std::to_string(static_cast<double>(std::clock() - processor_begin) / CLOCKS_PER_SEC);
  }
  std::printf("\"%s\": {\"tokens\": %zu, \"seconds\": [%s], \"processor_seconds\": [%s]}", name, tokens,
              wall.c_str(), processor.c_str());
}
}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: %s MMPROJ TEXT_HIDDEN_SIZE THREADS REPEATS [kernel row]\n", argv[0]);
    return 2;
  }
  const auto towers = open_towers(argv[1], std::atoi(argv[2]));
  if (!towers.ok()) return std::fprintf(stderr, "%s\n", std::string(towers.status().message()).c_str()), 1;
  const auto pool = ThreadPool::create(std::atoi(argv[3]));
  const int repeats = std::atoi(argv[4]);
  const Kernels* kernels = select_kernels(detect_cpu_features(), argc > 5 ? argv[5] : nullptr);
  if (kernels == nullptr || !pool.ok()) return std::fprintf(stderr, "unknown kernel row, or no threads\n"), 1;
  const std::atomic<bool> cancel{false};
  const MediaCompute compute{*kernels, **pool, cancel, Precision::kInt8};
  std::vector<uint8_t> pixels(size_t{768} * 768 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 2654435761u >> 24);
  std::vector<int16_t> samples(size_t{10} * 16000);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<int16_t>(i * 2654435761u >> 18);
  std::printf("{\"kernels\": \"%s\", ", kernels->name);
  measure("picture", repeats, [&]() -> StatusOr<size_t> {
    G4_ASSIGN_OR_RETURN(const MediaRunPtr run, encode_image(**towers, {pixels.data(), 768, 768, 3, 3 * 768},
                                                            280, MediaKind::kImage, compute));
    return run->row_count();
  });
  std::printf(", ");
  measure("sound", repeats, [&]() -> StatusOr<size_t> {
    G4_ASSIGN_OR_RETURN(const std::vector<SoundClip> clips,
                        encode_sound(**towers, {samples.data(), samples.size(), 1, 16000}, false, compute));
    return clips[0].run->row_count();
  });
  std::printf("}\n");
  return 0;
}
