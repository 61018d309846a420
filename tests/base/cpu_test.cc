#include "base/cpu.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace g4 {
namespace {
TEST_CASE("CPU features are consistent", "[base]") {
  const uint32_t features = detect_cpu_features();
  CHECK(detect_cpu_features() == features);
  const auto implies = [&](uint32_t feature, uint32_t needed) {
    return !(features & feature) || (features & needed);
  };
  CHECK(implies(kCpuAvx512, kCpuAvx2));
  CHECK(implies(kCpuAvx512Vnni, kCpuAvx512));
  CHECK(implies(kCpuNeonDotprod, kCpuNeon));
  CHECK(implies(kCpuNeonI8mm, kCpuNeon));
}

constexpr uint32_t kAllOfX86 = kCpuAvx2 | kCpuAvx512 | kCpuAvx512Vnni | kCpuAmxInt8;
constexpr X86Facts kEverything = {~0u, ~0u, ~0u, ~0u, 0x602e7};  // XCR0 of Linux on Sapphire Rapids
bool granted() { return true; }
bool refused() { return false; }

TEST_CASE("Whatever the processor has, the system must save its registers", "[base]") {
  CHECK(x86_features(kEverything, &granted) == kAllOfX86);
  const auto with_xcr0 = [](uint64_t xcr0) {
    X86Facts cpu = kEverything;
    cpu.xcr0 = xcr0;
    return x86_features(cpu, &granted);
  };
  CHECK(with_xcr0(0) == 0);
  CHECK(with_xcr0(0x3) == 0);                            // x87, SSE
  CHECK(with_xcr0(0x7) == kCpuAvx2);                     // ... YMM
  CHECK(with_xcr0(0xe7) == (kAllOfX86 & ~kCpuAmxInt8));  // ... and all of ZMM
  for (const int part : {5, 6, 7}) CHECK(with_xcr0(0x602e7 & ~(1u << part)) == kCpuAvx2);
  for (const int part : {17, 18})  // configuration and data of tiles
    CHECK(with_xcr0(0x602e7 & ~(1u << part)) == (kAllOfX86 & ~kCpuAmxInt8));
}

TEST_CASE("Tiles are there only if the system grants them, and asked for only if there are some", "[base]") {
  CHECK(x86_features(kEverything, &refused) == (kAllOfX86 & ~kCpuAmxInt8));
  static int requests;
  requests = 0;
  const auto count = +[] { return ++requests > 0; };
  for (const int bit : {24, 25}) {
    X86Facts cpu = kEverything;
    cpu.leaf7_edx &= ~(1u << bit);
    CHECK(x86_features(cpu, count) == (kAllOfX86 & ~kCpuAmxInt8));
  }
  CHECK(requests == 0);
  CHECK(x86_features(kEverything, count) == kAllOfX86);
  CHECK(requests == 1);
}

TEST_CASE("Every part of a feature of the processor is needed", "[base]") {
  const auto without = [](uint32_t X86Facts::*leaf, int bit) {
    X86Facts cpu = kEverything;
    cpu.*leaf &= ~(1u << bit);
    return x86_features(cpu, &granted);
  };
  for (const int bit : {12, 28, 29}) CHECK(without(&X86Facts::leaf1_ecx, bit) == 0);  // FMA, AVX, F16C
  CHECK(without(&X86Facts::leaf7_ebx, 5) == 0);                                       // AVX2
  for (const int bit : {16, 17, 30, 31}) CHECK(without(&X86Facts::leaf7_ebx, bit) == kCpuAvx2);
  CHECK(without(&X86Facts::leaf7_ecx, 11) == (kAllOfX86 & ~kCpuAvx512Vnni));
}

TEST_CASE("What Linux says of aarch64", "[base]") {
  CHECK(aarch64_features(0, 0) == 0);
  CHECK(aarch64_features(1u << 1, 0) == kCpuNeon);
  CHECK(aarch64_features(1u << 1 | 1u << 20, 0) == (kCpuNeon | kCpuNeonDotprod));
  CHECK(aarch64_features(0, 1u << 13) == kCpuNeonI8mm);
  CHECK(aarch64_features(~uint64_t{0}, ~uint64_t{0}) == (kCpuNeon | kCpuNeonDotprod | kCpuNeonI8mm));
}

#if defined(__linux__) && defined(__x86_64__)
// The kernel lists what it saw in the processor and has not switched off.
TEST_CASE("CPU features agree with /proc/cpuinfo", "[base]") {
  std::ifstream file("/proc/cpuinfo");
  std::string line, flags;
  while (std::getline(file, line))
    if (line.rfind("flags", 0) == 0) flags = line + " ";
  REQUIRE_FALSE(flags.empty());
  const auto has = [&](const char* flag) {
    return flags.find(std::string(" ") + flag + " ") != std::string::npos;
  };
  const uint32_t features = detect_cpu_features();
  const bool avx2 = has("avx2") && has("fma") && has("f16c");
  const bool avx512 = avx2 && has("avx512f") && has("avx512dq") && has("avx512bw") && has("avx512vl");
  CHECK(((features & kCpuAvx2) != 0) == avx2);
  CHECK(((features & kCpuAvx512) != 0) == avx512);
  CHECK(((features & kCpuAvx512Vnni) != 0) == (avx512 && has("avx512_vnni")));
  if (!has("amx_int8")) CHECK((features & kCpuAmxInt8) == 0);
}
#endif

TEST_CASE("physical cores", "[base]") {
  const int cores = static_cast<int>(physical_cores().size());
  CHECK(cores >= 1);
  if (std::thread::hardware_concurrency() > 0)
    CHECK(cores <= static_cast<int>(std::thread::hardware_concurrency()));
}

#if defined(__linux__)
TEST_CASE("a thread bound to one processor has one core", "[base]") {
  int cores = 0;
  bool bound = false;
  std::thread([&] {
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
      for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu)
        if (CPU_ISSET(cpu, &allowed) && CPU_COUNT(&one) == 0) CPU_SET(cpu, &one);
    bound = sched_setaffinity(0, sizeof one, &one) == 0;
    cores = static_cast<int>(physical_cores().size());
  }).join();
  REQUIRE(bound);
  CHECK(cores == 1);
}
#endif
}  // namespace
}  // namespace g4
