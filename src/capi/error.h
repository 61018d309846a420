// Status -> g4_status and the thread's message. No exception crosses the C boundary.
#pragma once
#include <exception>
#include <new>

#include "absl/strings/string_view.h"
#include "base/status.h"
#include "g4/g4.h"

namespace g4 {
// Remembers the message for g4_last_error and returns the number.
g4_status report(const Status& status);
g4_status report(g4_status number, absl::string_view message);
const char* last_error_message();

// Runs a function body that returns Status; turns exceptions of the standard library into statuses.
template <typename Body>
g4_status guarded(Body&& body) {
  try {
    const Status status = body();
    return status.ok() ? G4_OK : report(status);
  } catch (const std::bad_alloc&) {
    return report(G4_ERR_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return report(G4_ERR_INTERNAL, e.what());
  } catch (...) {
    return report(G4_ERR_INTERNAL, "unknown exception");
  }
}
}  // namespace g4
