/* The C function that passes events on to Go; its payload points at a cgo.Handle of events. */
#include <g4/g4.h>

g4_event_callback g4_go_callback(void);
