#include "events.h"

#include <cstring>
#include <utility>

namespace g4_python {
int32_t Events::callback(const g4_event* event, void* payload) {
  Events& self = *static_cast<Events*>(payload);
  if (self.stopped_) return 1;
  const bool wanted = event->kind == G4_EVENT_LOGITS || !self.progress_.is_none();
  if (!wanted) return 0;
  py::gil_scoped_acquire gil;
  try {
    self.call(*event);
  } catch (...) {
    self.raised_ = std::current_exception();
    self.stopped_ = true;
  }
  return self.stopped_ ? 1 : 0;
}

void Events::rethrow() {
  if (raised_) std::rethrow_exception(std::exchange(raised_, nullptr));
}

void Events::call(const g4_event& event) {
  if (event.kind == G4_EVENT_LOGITS)
    call_logits_hook(event);
  else
    progress_(event.done_count, event.total_count);
}

void Events::call_logits_hook(const g4_event& event) {
  const auto count = static_cast<py::ssize_t>(event.logits_count);
  if (!logits_ || logits_.ref_count() > 1 || logits_.size() != count) logits_ = py::array_t<float>(count);
  std::memcpy(logits_.mutable_data(), event.logits, event.logits_count * sizeof(float));
  if (!logits_hook_(logits_).is_none())
    throw py::type_error("logits_hook must change the array in place and return None");
  if (logits_.nbytes() != static_cast<py::ssize_t>(event.logits_count * sizeof(float)))
    throw py::value_error("logits_hook has resized the array of logits; change its values only");
  std::memcpy(event.logits, logits_.data(), event.logits_count * sizeof(float));
}
}  // namespace g4_python
