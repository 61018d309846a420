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
uint32_t detect_cpu_features();  // asks the OS for the tiles where there are some

// What the above is made of. x86: registers of CPUID leaves 1 and 7, and XCR0, the registers that the OS
// saves when it switches between threads (0 without OSXSAVE); request_tiles asks the OS for the tiles.
// aarch64: what Linux says in AT_HWCAP and AT_HWCAP2.
struct X86Facts {
  uint32_t leaf1_ecx, leaf7_ebx, leaf7_ecx, leaf7_edx;
  uint64_t xcr0;
};
uint32_t x86_features(const X86Facts& cpu, bool (*request_tiles)());
uint32_t aarch64_features(uint64_t hwcap, uint64_t hwcap2);

// One processor of each physical core this process may run on (affinity and siblings considered), at least 1.
std::vector<int> physical_cores();
// Keeps the calling thread on one processor. Never fails, at worst does nothing.
void pin_thread(int processor);
}  // namespace g4
