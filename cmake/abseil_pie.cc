// Stands in, inside libg4.so only, for two objects of Abseil's archives that cannot be linked there (see
// abseil.cmake): sampling of Cords is off, and thread ids and processor counts are asked for each time.
// Neither matters to Status and string functions.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <thread>

#include "absl/base/config.h"
#include "absl/base/internal/sysinfo.h"
#include "absl/strings/internal/cordz_functions.h"

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace cord_internal {
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
int32_t get_cordz_mean_interval() { return 0; }
void set_cordz_mean_interval(int32_t) {}
void cordz_set_next_sample_for_testing(int64_t) {}
#if ABSL_LTS_RELEASE_VERSION >= 20240722
ABSL_CONST_INIT thread_local SamplingState cordz_next_sample = {kNever, kNever};
int64_t cordz_should_profile_slow(SamplingState& state) {
  state.next_sample = kNever;
  return 0;
}
#else
ABSL_CONST_INIT thread_local int64_t cordz_next_sample = kNever;
bool cordz_should_profile_slow() {
  cordz_next_sample = kNever;
  return false;
}
#endif
}  // namespace cord_internal

namespace base_internal {
int NumCPUs() { return static_cast<int>(std::thread::hardware_concurrency()); }
double NominalCPUFrequency() { return 1.0; }
pid_t GetTID() { return static_cast<pid_t>(syscall(SYS_gettid)); }
pid_t GetCachedTID() { return GetTID(); }
}  // namespace base_internal
ABSL_NAMESPACE_END
}  // namespace absl
