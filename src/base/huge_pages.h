// Large pages for large buffers: what reads all of a gigabyte for every token otherwise waits for the page
// tables too.
#pragma once
#include <cstddef>

namespace g4 {
inline constexpr size_t kHugePageBytes = size_t{2} << 20;
// Asks the system to back [data, data + bytes) with huge pages where it is not touched yet; data is aligned
// to kHugePageBytes. Never fails, at worst does nothing.
void advise_huge_pages(void* data, size_t bytes);
}  // namespace g4
