package g4

/*
#include <g4/g4.h>
*/
import "C"

import (
	"context"
	"sync"
	"time"
)

// handle owns a C session and keeps it alive while it is in use: closing it ends the call that runs, and the last user frees it. It
// points at nothing of Go, so that its finalizer runs.
type handle struct {
	mutex     sync.Mutex
	session   *C.g4_session
	users     int
	busy      bool // a call that changes or reads the session runs
	closed    bool
	position  int
	rewindMin int
}

// acquire lets the session be used until release. exclusive: for a call on the session, of which only one may run.
func (h *handle) acquire(exclusive bool) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.closed {
		return &Error{StatusState, "the session is closed"}
	}
	if exclusive && h.busy {
		return &Error{StatusState, "another call on this session is running"}
	}
	h.users++
	h.busy = h.busy || exclusive
	return nil
}

func (h *handle) release(exclusive bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if exclusive {
		h.busy = false
		h.look()
	}
	h.users--
	h.free()
}

// look notes what callers may ask for at any time.
func (h *handle) look() {
	h.position = int(C.g4_position(h.session))
	h.rewindMin = int(C.g4_rewind_min(h.session))
}

func (h *handle) free() {
	if h.closed && h.users == 0 {
		C.g4_session_free(h.session)
		h.session = nil
	}
}

func (h *handle) close() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	C.g4_cancel(h.session)
	h.free()
}

func (h *handle) cancel() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.session != nil {
		C.g4_cancel(h.session)
	}
}

// watch cancels the running call when the context is done, again and again in case it has not begun yet. The result ends the watch.
func (h *handle) watch(ctx context.Context) func() {
	if ctx == nil || ctx.Done() == nil {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		for {
			h.cancel()
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
