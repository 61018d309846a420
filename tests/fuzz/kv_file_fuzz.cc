// Any bytes as a KV file. The header's checksum and the file's size are put right first, so that damage
// reaches what lies behind them.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "kv/kv_file.h"

namespace {
g4::ModelConfig config() {
  g4::ModelConfig config;
  config.sliding_window = 40;
  config.head_count = 2;
  config.layers = {{true, 2, 8, 8}, {false, 1, 16, 8}};
  return config;
}

// Offsets in the preamble (docs/FORMATS.md).
constexpr size_t kHeaderBytes = 12, kChecksum = 16, kFileBytes = 24, kPreamble = 32;

void repair(std::string* file) {
  if (file->size() < kPreamble) return;
  uint32_t header = 0;
  std::memcpy(&header, file->data() + kHeaderBytes, sizeof header);
  if (header <= file->size() - kPreamble) {
    const uint64_t checksum = XXH3_64bits(file->data() + kPreamble, header);
    std::memcpy(file->data() + kChecksum, &checksum, sizeof checksum);
  }
  const uint64_t size = file->size();
  std::memcpy(file->data() + kFileBytes, &size, sizeof size);
}

// What was loaded can be gone on from.
void go_on(const g4::LoadedKv& loaded) {
  g4::KvStore store = loaded.store;
  if (static_cast<int>(loaded.info.tokens.size()) != store.position()) std::abort();
  if (loaded.info.rewind_min != static_cast<uint64_t>(store.rewind_min())) std::abort();
  store.begin_append();
  if (!store.prepare_step(70).ok()) std::abort();
  for (int layer = 0; layer < 2; ++layer)
    for (int p = std::max(0, store.position() - 39); p < store.position(); ++p)
      store.k_row(layer, p, 0)[0] ^= 1;
  store.commit();
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string file(reinterpret_cast<const char*>(data), size);
  repair(&file);
  const int fd = ::memfd_create("kv", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, file.data(), file.size()) != static_cast<ssize_t>(file.size())) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const g4::KvMeta meta(config());
  const g4::Fingerprint model{1, 2, 3};
  for (const auto type : {g4::KvType::kF16, g4::KvType::kF32, g4::KvType::kQ8_0})
    if (const auto loaded = g4::load_kv(path, {model, &meta, type}, 8, 500, 50); loaded.ok()) go_on(*loaded);
  (void)g4::probe_kv(path);
  ::close(fd);
  return 0;
}
