#include "base/cpu.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <set>
#include <string>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__linux__) && defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace g4 {
// ---- Features

#if defined(__x86_64__)
namespace {
struct Cpuid {
  unsigned a = 0, b = 0, c = 0, d = 0;
  Cpuid(unsigned leaf, unsigned subleaf) {
    __get_cpuid_count(leaf, subleaf, &a, &b, &c, &d);
  }  // zeros if there is no such leaf
};

bool has(unsigned bits, unsigned index) { return (bits >> index & 1) != 0; }

// XCR0: which registers the operating system saves when it switches between threads. Needs OSXSAVE.
uint64_t saved_registers() {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

// Linux gives out the 8 kB of tile registers on request only; using them without one is a fatal signal.
#if defined(__linux__)
bool request_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#else
bool request_tiles() { return false; }
#endif
}  // namespace

uint32_t detect_cpu_features() {
  constexpr uint64_t kYmm = 0x6, kZmm = 0xe6, kTiles = 0x60000;  // the parts of XCR0 each needs
  const Cpuid basic(1, 0), extended(7, 0);
  if (!has(basic.c, 27)) return 0;  // OSXSAVE
  const uint64_t saved = saved_registers();
  uint32_t features = 0;
  const bool avx2 =
      has(basic.c, 28) && has(extended.b, 5) && has(basic.c, 12) && has(basic.c, 29);  // AVX, AVX2, FMA, F16C
  if (!avx2 || (saved & kYmm) != kYmm) return 0;
  features |= kCpuAvx2;
  const bool avx512 = has(extended.b, 16) && has(extended.b, 17) && has(extended.b, 30) &&
                      has(extended.b, 31);  // F, DQ, BW, VL
  if (!avx512 || (saved & kZmm) != kZmm) return features;
  features |= kCpuAvx512;
  if (has(extended.c, 11)) features |= kCpuAvx512Vnni;
  const bool amx = has(extended.d, 24) && has(extended.d, 25);  // AMX-TILE, AMX-INT8
  if (amx && (saved & kTiles) == kTiles && request_tiles()) features |= kCpuAmxInt8;
  return features;
}

#elif defined(__linux__) && defined(__aarch64__)
uint32_t detect_cpu_features() {
  const unsigned long capabilities = getauxval(AT_HWCAP), more = getauxval(AT_HWCAP2);
  uint32_t features = 0;
  if (capabilities >> 1 & 1) features |= kCpuNeon;          // HWCAP_ASIMD
  if (capabilities >> 20 & 1) features |= kCpuNeonDotprod;  // HWCAP_ASIMDDP
  if (more >> 13 & 1) features |= kCpuNeonI8mm;             // HWCAP2_I8MM
  return features;
}

#elif defined(__aarch64__)
uint32_t detect_cpu_features() { return kCpuNeon; }  // part of the architecture

#else
uint32_t detect_cpu_features() { return 0; }
#endif

// ---- Cores

namespace {
std::vector<int> all_processors() {
  std::vector<int> processors(std::max(1u, std::thread::hardware_concurrency()));
  std::iota(processors.begin(), processors.end(), 0);
  return processors;
}
}  // namespace

#if defined(__linux__)
std::vector<int> physical_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Fails on machines with more processors than the set has room for.
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return all_processors();
  std::set<std::string> cores;  // named by the list of their siblings
  std::vector<int> processors;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    char siblings[64] = "";
    const std::string path =
        "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list";
    if (FILE* file = std::fopen(path.c_str(), "re")) {
      if (std::fgets(siblings, sizeof siblings, file) == nullptr) siblings[0] = '\0';
      std::fclose(file);
    }
    // Unknown: a core of its own.
    const bool is_new = cores.insert(siblings[0] != '\0' ? siblings : "cpu " + std::to_string(cpu)).second;
    if (is_new) processors.push_back(cpu);
  }
  return processors.empty() ? all_processors() : processors;
}

void pin_thread(int processor) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  sched_setaffinity(0, sizeof only, &only);
}
#else
std::vector<int> physical_cores() { return all_processors(); }
void pin_thread(int) {}
#endif
}  // namespace g4
