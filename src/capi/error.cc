#include "capi/error.h"

#include <algorithm>
#include <cstring>

namespace g4 {
namespace {
constexpr size_t kMessageBytes = 1024;
// Fixed size: reporting "out of memory" must not allocate.
thread_local char message_of_thread[kMessageBytes] = "";

g4_status number_of(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return G4_ERR_ARGUMENT;
    case absl::StatusCode::kFailedPrecondition:
      return G4_ERR_STATE;
    case absl::StatusCode::kUnavailable:
      return G4_ERR_IO;
    case absl::StatusCode::kNotFound:  // a metadata key that is not there
    case absl::StatusCode::kDataLoss:
      return G4_ERR_FORMAT;
    case absl::StatusCode::kPermissionDenied:
      return G4_ERR_MISMATCH;
    case absl::StatusCode::kUnimplemented:
      return G4_ERR_UNSUPPORTED;
    case absl::StatusCode::kResourceExhausted:
      return G4_ERR_MEMORY;
    case absl::StatusCode::kOutOfRange:
      return G4_ERR_CONTEXT_FULL;
    case absl::StatusCode::kCancelled:
      return G4_ERR_CANCELLED;
    case absl::StatusCode::kAborted:
      return G4_ERR_BUFFER;
    default:
      return G4_ERR_INTERNAL;
  }
}
}  // namespace

g4_status report(g4_status number, absl::string_view message) {
  size_t length = std::min(message.size(), kMessageBytes - 1);
  while (length < message.size() && length > 0 &&
         (static_cast<unsigned char>(message[length]) & 0xC0) == 0x80)
    --length;
  std::memcpy(message_of_thread, message.data(), length);
  message_of_thread[length] = '\0';
  return number;
}

g4_status report(const Status& status) { return report(number_of(status.code()), status.message()); }
const char* last_error_message() { return message_of_thread; }
}  // namespace g4
