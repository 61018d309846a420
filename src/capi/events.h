// Events for the callbacks of g4.h.
#pragma once
#include <cstdint>
#include <functional>

#include "g4/g4.h"

namespace g4 {
inline g4_event event_of(g4_event_kind kind, uint64_t done, uint64_t total) {
  g4_event event = G4_INIT(g4_event);
  event.kind = kind;
  event.done_count = done;
  event.total_count = total;
  event.token = -1;
  event.text = "";
  return event;
}

// A progress function that sends events; empty without a callback.
inline std::function<bool(uint64_t, uint64_t)> progress_events(g4_event_kind kind, g4_event_callback callback,
                                                               void* payload) {
  if (callback == nullptr) return {};
  return [=](uint64_t done, uint64_t total) {
    const g4_event event = event_of(kind, done, total);
    return callback(&event, payload) == 0;
  };
}

}  // namespace g4
