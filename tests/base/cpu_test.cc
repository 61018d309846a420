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
