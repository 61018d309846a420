package g4

/*
#include "callback.h"
*/
import "C"

import (
	"context"
	"runtime/cgo"
	"unsafe"
)

// events is what a call does with the events of the C library, and what came of that.
type events struct {
	context  context.Context // nil: none
	load     func(done, total uint64)
	prefill  func(done, total int)
	logits   func([]float32)
	piece    func(Piece) error
	err      error // what piece returned
	panicked any   // a panic must not pass through C
}

// register makes callback and payload for C; forget must be called after the C call.
func (e *events) register(memory *arena) (callback C.g4_event_callback, payload unsafe.Pointer, forget func()) {
	handle := cgo.NewHandle(e)
	payload = memory.alloc(1, unsafe.Sizeof(handle))
	*(*cgo.Handle)(payload) = handle
	return C.g4_go_callback(), payload, handle.Delete
}

// finish passes a panic on and prefers the caller's own error to the library's.
func (e *events) finish(err error) error {
	if e.panicked != nil {
		panic(e.panicked)
	}
	if e.err != nil && e.err != Stop {
		return e.err
	}
	return err
}

//export g4GoEvent
func g4GoEvent(event *C.g4_event, payload unsafe.Pointer) (stop C.int32_t) {
	e := (*(*cgo.Handle)(payload)).Value().(*events)
	defer func() {
		if thrown := recover(); thrown != nil {
			e.panicked = thrown
			stop = 1
		}
	}()
	if e.panicked != nil || e.err != nil || (e.context != nil && e.context.Err() != nil) {
		return 1
	}
	e.dispatch(event)
	if e.err != nil {
		return 1
	}
	return 0
}

// piece is what a token event tells.
func piece(event *C.g4_event) Piece {
	text := C.GoStringN(event.text, C.int(event.text_bytes))
	return Piece{Token: int32(event.token), Channel: Channel(event.channel), Text: text}
}

func (e *events) dispatch(event *C.g4_event) {
	switch event.kind {
	case C.G4_EVENT_LOAD:
		if e.load != nil {
			e.load(uint64(event.done_count), uint64(event.total_count))
		}
	case C.G4_EVENT_PREFILL:
		if e.prefill != nil {
			e.prefill(int(event.done_count), int(event.total_count))
		}
	case C.G4_EVENT_LOGITS:
		if e.logits != nil {
			e.logits(unsafe.Slice((*float32)(event.logits), int(event.logits_count)))
		}
	case C.G4_EVENT_TOKEN:
		if e.piece != nil {
			e.err = e.piece(piece(event))
		}
	}
}
