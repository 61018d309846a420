#include "_cgo_export.h"
#include "callback.h"

static int32_t on_event(const g4_event* event, void* payload) { return g4GoEvent((g4_event*)event, payload); }

g4_event_callback g4_go_callback(void) { return on_event; }
