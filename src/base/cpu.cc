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

namespace {
bool has(uint64_t bits, unsigned index) { return (bits >> index & 1) != 0; }
}  // namespace

uint32_t x86_features(const X86Facts& cpu, bool (*request_tiles)()) {
  constexpr uint64_t kYmm = 0x6, kZmm = 0xe6, kTiles = 0x60000;  // the parts of XCR0 each needs
  const auto saved = [&](uint64_t parts) { return (cpu.xcr0 & parts) == parts; };
  const bool avx2 = has(cpu.leaf1_ecx, 28) && has(cpu.leaf7_ebx, 5) && has(cpu.leaf1_ecx, 12) &&
                    has(cpu.leaf1_ecx, 29);  // AVX, AVX2, FMA, F16C
  if (!avx2 || !saved(kYmm)) return 0;
  uint32_t features = kCpuAvx2;
  const bool avx512 = has(cpu.leaf7_ebx, 16) && has(cpu.leaf7_ebx, 17) && has(cpu.leaf7_ebx, 30) &&
                      has(cpu.leaf7_ebx, 31);  // F, DQ, BW, VL
  if (!avx512 || !saved(kZmm)) return features;
  features |= kCpuAvx512;
  if (has(cpu.leaf7_ecx, 11)) features |= kCpuAvx512Vnni;
  const bool amx = has(cpu.leaf7_edx, 24) && has(cpu.leaf7_edx, 25);  // AMX-TILE, AMX-INT8
  if (amx && saved(kTiles) && request_tiles()) features |= kCpuAmxInt8;
  return features;
}

uint32_t aarch64_features(uint64_t hwcap, uint64_t hwcap2) {
  uint32_t features = 0;
  if (has(hwcap, 1)) features |= kCpuNeon;          // HWCAP_ASIMD
  if (has(hwcap, 20)) features |= kCpuNeonDotprod;  // HWCAP_ASIMDDP
  if (has(hwcap2, 13)) features |= kCpuNeonI8mm;    // HWCAP2_I8MM
  return features;
}

#if defined(__x86_64__)
namespace {
struct Cpuid {
  unsigned a = 0, b = 0, c = 0, d = 0;
  Cpuid(unsigned leaf, unsigned subleaf) {
    __get_cpuid_count(leaf, subleaf, &a, &b, &c, &d);
  }  // zeros if there is no such leaf
};

// Needs OSXSAVE.
uint64_t read_xcr0() {
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

// Linux gives out the 8 kB of tile registers on request only, to all threads of a process; using them without
// one is a fatal signal.
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
  const Cpuid basic(1, 0), extended(7, 0);
  const bool osxsave = has(basic.c, 27);
  return x86_features({basic.c, extended.b, extended.c, extended.d, osxsave ? read_xcr0() : 0},
                      &request_tiles);
}

#elif defined(__linux__) && defined(__aarch64__)
uint32_t detect_cpu_features() { return aarch64_features(getauxval(AT_HWCAP), getauxval(AT_HWCAP2)); }

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
