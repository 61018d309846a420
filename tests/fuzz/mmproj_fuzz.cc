// Any bytes as an mmproj file: loading the towers ends in a status, and towers that load can be run.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/cpu.h"
#include "io/gguf.h"
#include "media/encode.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int kTextDim = 8;
  const auto source = g4::parse_gguf({data, size});
  if (!source.ok()) return 0;
  const auto towers = g4::load_towers(**source, kTextDim);
  if (!towers.ok()) return 0;
  const auto pool = g4::ThreadPool::create(1);
  const std::atomic<bool> cancel{false};
  const g4::MediaCompute compute{*g4::select_kernels(g4::detect_cpu_features(), nullptr), **pool, cancel,
                                 g4::Precision::kInt8};
  const std::vector<uint8_t> pixels(3 * 20 * 30, 77);
  const std::vector<int16_t> samples(700, 1000);
  (void)g4::encode_image(*towers, {pixels.data(), 20, 30, 3, 60}, 70, g4::MediaKind::kImage, compute);
  (void)g4::encode_sound(*towers, {samples.data(), samples.size(), 1, 16000}, false, compute);
  return 0;
}
