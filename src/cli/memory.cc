#include "cli/memory.h"

#include <fstream>
#include <string>

namespace g4::cli {
Memory measure_memory() {
  Memory memory = {};
  std::ifstream status("/proc/self/status");
  std::string key;
  while (status >> key) {
    uint64_t* field = key == "VmRSS:"     ? &memory.resident_bytes
                      : key == "RssAnon:" ? &memory.anonymous_bytes
                      : key == "RssFile:" ? &memory.file_bytes
                      : key == "VmHWM:"   ? &memory.peak_bytes
                                          : nullptr;
    uint64_t kibibytes = 0;
    if (field != nullptr && status >> kibibytes) *field = kibibytes * 1024;
    std::getline(status, key);
  }
  return memory;
}
}  // namespace g4::cli
