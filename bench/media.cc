// Seconds, and processor seconds of all threads, to encode one picture of 280 tokens at most and one sound of
// 10 s.
//
//   g4_bench_media MMPROJ TEXT_HIDDEN_SIZE [threads] [kernel row]
//
// bench/synthetic_mmproj.py writes a file of the released sizes with random weights.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "base/cpu.h"
#include "media/encode.h"

namespace {
using namespace g4;
constexpr int kRepeats = 3;

struct Seconds {
  double wall = 1e30, processor = 1e30;
};

// The least of some calls, of each.
template <typename Body>
Seconds fastest(Body&& body) {
  Seconds best;
  for (int i = 0; i < kRepeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t processor = std::clock();
    if (!body()) std::exit(1);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    best.wall = std::min(best.wall, wall.count());
    best.processor = std::min(best.processor, static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC);
  }
  return best;
}

void report(const MediaCompute& compute, const char* what, size_t tokens, const Seconds& seconds) {
  std::printf("%s, %d threads: %s, %zu tokens %8.3f s, %8.3f processor s\n", compute.kernels.name,
              compute.pool.size(), what, tokens, seconds.wall, seconds.processor);
}
}  // namespace

int main(int argc, char** argv) {
  if (argc < 3)
    return std::fprintf(stderr, "usage: %s MMPROJ TEXT_HIDDEN_SIZE [threads] [row]\n", argv[0]), 2;
  const auto towers = open_towers(argv[1], std::atoi(argv[2]));
  if (!towers.ok()) return std::fprintf(stderr, "%s\n", std::string(towers.status().message()).c_str()), 1;
  const auto pool =
      ThreadPool::create(argc > 3 ? std::atoi(argv[3]) : static_cast<int>(physical_cores().size()));
  const Kernels* kernels = select_kernels(detect_cpu_features(), argc > 4 ? argv[4] : nullptr);
  if (kernels == nullptr || !pool.ok()) return std::fprintf(stderr, "unknown kernel row, or no threads\n"), 1;
  const std::atomic<bool> cancel{false};
  const MediaCompute compute{*kernels, **pool, cancel, Precision::kInt8};
  std::vector<uint8_t> pixels(size_t{768} * 768 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 2654435761u >> 24);
  std::vector<int16_t> samples(size_t{10} * 16000);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<int16_t>(i * 2654435761u >> 18);
  size_t tokens = 0;
  if (!(*towers)->vision.empty()) {
    const Seconds seconds = fastest([&] {
      const auto run =
          encode_image(**towers, {pixels.data(), 768, 768, 3, 3 * 768}, 280, MediaKind::kImage, compute);
      return run.ok() && (tokens = (*run)->row_count()) > 0;
    });
    report(compute, "picture", tokens, seconds);
  }
  if (!(*towers)->audio.empty()) {
    const Seconds seconds = fastest([&] {
      const auto clips = encode_sound(**towers, {samples.data(), samples.size(), 1, 16000}, false, compute);
      return clips.ok() && (tokens = (*clips)[0].run->row_count()) > 0;
    });
    report(compute, "sound", tokens, seconds);
  }
  return 0;
}
