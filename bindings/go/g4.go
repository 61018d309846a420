// Package g4 runs Gemma 4 models on CPUs, inside your program.
//
//	session, err := g4.Open("model.gguf", nil)
//	if err != nil { … }
//	defer session.Close()
//	prompt, err := session.Tokenizer().ChatTokenize(`[{"role": "user", "content": "Hello"}]`, nil)
//	_, err = session.Generate(ctx, prompt, nil, func(piece g4.Piece) error {
//		fmt.Print(piece.Text)
//		return nil
//	})
//
// A thin layer over the C interface of libg4, which pkg-config must find (g4.pc of an installed g4). The manual of each function is
// g4.h. A nil options pointer means all defaults, and so does a zero field of options, except where 0 is said to mean something.
package g4

/*
#cgo pkg-config: g4
#include <g4/g4.h>
*/
import "C"

import (
	"fmt"
	"runtime"
	"strings"
)

// Status is the kind of a failure.
type Status int32

// The numbers of g4.h.
const (
	StatusArgument    Status = C.G4_ERR_ARGUMENT     // an argument is wrong; the message says which and why
	StatusBuffer      Status = C.G4_ERR_BUFFER       // a buffer is too small
	StatusState       Status = C.G4_ERR_STATE        // the call does not fit the session's state: closed, no logits yet, another call running
	StatusIO          Status = C.G4_ERR_IO           // a file cannot be read or written
	StatusFormat      Status = C.G4_ERR_FORMAT       // a file is damaged or inconsistent
	StatusUnsupported Status = C.G4_ERR_UNSUPPORTED  // a file or option is valid but g4 does not support it
	StatusMismatch    Status = C.G4_ERR_MISMATCH     // a KV file of another model, KV type or geometry
	StatusMemory      Status = C.G4_ERR_MEMORY       // not enough memory
	StatusContextFull Status = C.G4_ERR_CONTEXT_FULL // the tokens do not fit the rest of the context
	StatusCancelled   Status = C.G4_ERR_CANCELLED    // ended by a context, Cancel or a callback
	StatusInternal    Status = C.G4_ERR_INTERNAL     // a fault of g4 itself; please report it
)

func (status Status) String() string { return C.GoString(C.g4_status_phrase(C.g4_status(status))) }

// Error is a failed call. Its message names the thing, the value and what to do. errors.Is compares the status alone:
// errors.Is(err, g4.ErrContextFull).
type Error struct {
	Status  Status
	Message string
}

func (err *Error) Error() string { return "g4: " + err.Message }

// Is tells whether target is an Error of the same status.
func (err *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Status == err.Status
}

// One for each status, for errors.Is.
var (
	ErrArgument    = &Error{StatusArgument, "wrong argument"}
	ErrBuffer      = &Error{StatusBuffer, "buffer too small"}
	ErrState       = &Error{StatusState, "not in this state"}
	ErrIO          = &Error{StatusIO, "input or output failed"}
	ErrFormat      = &Error{StatusFormat, "damaged file"}
	ErrUnsupported = &Error{StatusUnsupported, "not supported"}
	ErrMismatch    = &Error{StatusMismatch, "of another model"}
	ErrMemory      = &Error{StatusMemory, "out of memory"}
	ErrContextFull = &Error{StatusContextFull, "context full"}
	ErrCancelled   = &Error{StatusCancelled, "cancelled"}
	ErrInternal    = &Error{StatusInternal, "internal fault"}
)

// call makes a C call and turns its status into an error: the message is of the thread that made the call.
func call(function func() C.g4_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if status := function(); status != C.G4_OK {
		return &Error{Status(status), C.GoString(C.g4_last_error())}
	}
	return nil
}

// noZero refuses strings that C would cut.
func noZero(what, text string) error {
	if strings.IndexByte(text, 0) >= 0 {
		return &Error{StatusArgument, fmt.Sprintf("%s %q has a zero byte in it", what, text)}
	}
	return nil
}

// ABIVersion is that of the library that runs.
func ABIVersion() int { return int(C.g4_abi_version()) }

// Version is that of the library, "1.2.3".
func Version() string { return C.GoString(C.g4_version()) }

// CPUs are the names of the kernels this machine can run, best first.
func CPUs() []string { return strings.Fields(C.GoString(C.g4_cpus())) }
