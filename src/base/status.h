// Status aliases and the two early-return macros of the project.
#pragma once
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace g4 {
using absl::Status;
using absl::StatusOr;
using absl::StrCat;

// The four kinds of failure g4 reports, by the status that the C ABI makes of them (capi/error.cc):
inline Status argument_error(absl::string_view message) {
  return absl::InvalidArgumentError(message);
}  // G4_ERR_ARGUMENT
inline Status format_error(absl::string_view message) {
  return absl::DataLossError(message);
}  // G4_ERR_FORMAT
inline Status io_error(absl::string_view message) { return absl::UnavailableError(message); }  // G4_ERR_IO
inline Status memory_error(absl::string_view message) {
  return absl::ResourceExhaustedError(message);
}  // G4_ERR_MEMORY
inline Status unsupported_error(absl::string_view message) {
  return absl::UnimplementedError(message);
}  // G4_ERR_UNSUPPORTED
inline Status cancelled_error() { return absl::CancelledError("cancelled"); }  // G4_ERR_CANCELLED
inline Status context_full_error(absl::string_view message) {
  return absl::OutOfRangeError(message);
}  // G4_ERR_CONTEXT_FULL
inline Status mismatch_error(absl::string_view message) {
  return absl::PermissionDeniedError(message);
}  // G4_ERR_MISMATCH
inline Status state_error(absl::string_view message) {
  return absl::FailedPreconditionError(message);
}  // G4_ERR_STATE
}  // namespace g4

#define G4_RETURN_IF_ERROR(expression)                                                 \
  do {                                                                                 \
    if (::absl::Status g4_status_ = (expression); !g4_status_.ok()) return g4_status_; \
  } while (false)

#define G4_CONCAT_INNER(a, b) a##b
#define G4_CONCAT(a, b) G4_CONCAT_INNER(a, b)
#define G4_ASSIGN_OR_RETURN(target, expression) \
  G4_ASSIGN_OR_RETURN_IMPL(G4_CONCAT(g4_or_, __LINE__), target, expression)
#define G4_ASSIGN_OR_RETURN_IMPL(temporary, target, expression) \
  auto temporary = (expression);                                \
  if (!temporary.ok()) return std::move(temporary).status();    \
  target = *std::move(temporary)
