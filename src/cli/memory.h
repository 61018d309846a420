// What the kernel says of this process's memory.
#pragma once
#include <cstdint>

namespace g4::cli {
struct Memory {
  uint64_t resident_bytes;   // now: anonymous + mapped files
  uint64_t anonymous_bytes;  // KV cache, activations, heap
  uint64_t file_bytes;       // pages of mapped files: the weights
  uint64_t peak_bytes;       // highest resident_bytes so far
};

// From /proc/self/status; zeros where there is none.
Memory measure_memory();
}  // namespace g4::cli
