#include "base/huge_pages.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace g4 {
#if defined(__linux__)
void advise_huge_pages(void* data, size_t bytes) { madvise(data, bytes, MADV_HUGEPAGE); }
#else
void advise_huge_pages(void*, size_t) {}
#endif
}  // namespace g4
