// What this processor can do *and* the operating system allows. Plain data: detection runs once per call,
// keeps no state.
#pragma once
#include <cstdint>
#include <vector>

namespace g4 {
enum CpuFeature : uint32_t {
  kCpuAvx2 = 1u << 0,        // AVX2 + FMA + F16C, with the OS saving the YMM registers
  kCpuAvx512 = 1u << 1,      // AVX-512 F, BW, DQ, VL, with the OS saving the ZMM registers
  kCpuAvx512Vnni = 1u << 2,  // dpbusd
  kCpuAmxInt8 = 1u << 3,     // tiles, granted by the OS (arch_prctl)
  kCpuNeon = 1u << 4,
  kCpuNeonDotprod = 1u << 5,
  kCpuNeonI8mm = 1u << 6,
};
uint32_t detect_cpu_features();
// One processor of each physical core this process may run on (affinity and siblings considered), at least 1.
std::vector<int> physical_cores();
// Keeps the calling thread on one processor. Never fails, at worst does nothing.
void pin_thread(int processor);
}  // namespace g4
