// What a decoded token takes from the heap: nothing, but a page of KV every 32 positions.
#include <features.h>
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <atomic>
#include <cstdlib>

#include "tests/session/open_session.h"

namespace {
std::atomic<bool> counting{false};
std::atomic<size_t> allocations{0};
void count() {
  if (counting) ++allocations;
}
}  // namespace

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void* malloc(size_t size) {
  count();
  return __libc_malloc(size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
}

namespace g4 {
TEST_CASE("Decoding allocates nothing between two pages", "[session]") {
  for (const std::string& name : kTinyModels) {
    const auto model = open_model("tiny/" + name + "/model.gguf");
    for (const Precision precision : {Precision::kF32, Precision::kInt8}) {
      SessionOptions options;
      options.precision = precision;
      options.thread_count = 2;
      auto session = new_session(model, options);
      feed(*session, some_tokens(33), 33);
      const SamplingOptions sampling;
      REQUIRE(session->decode(sampling).ok());
      allocations = 0;
      counting = true;
      bool all_well = true;
      for (int i = 0; i < 24; ++i) all_well = session->decode(sampling).ok() && all_well;
      counting = false;
      CHECK(all_well);
      CHECK(session->position() < 2 * kPagePositions);
      INFO(name);
      CHECK(allocations == 0);
    }
  }
}
}  // namespace g4
#endif
