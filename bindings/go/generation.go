package g4

/*
#include "callback.h"
*/
import "C"

import (
	"context"
	"runtime"
	"unsafe"
)

// Generation is an answer that is made token by token, each by a call of Next:
//
//	answer, err := session.Begin(ctx, prompt, nil)
//	if err != nil { … }
//	defer answer.Close()
//	for answer.Next() {
//		fmt.Print(answer.Piece().Text)
//	}
//	err = answer.Err()
//
// Between two tokens the session may be read and saved; it holds exactly the tokens seen. One goroutine at a time.
type Generation struct {
	session *Session
	ctx     context.Context
	own     *C.g4_generation
	events  *events // apart from the generation, so that a forgotten one is finalized
	memory  arena
	forget  func()
	piece   Piece
	err     error
	ended   bool
}

// Begin evaluates the prompt (none: goes on from the current logits) for an answer. The context may end it at any time.
func (s *Session) Begin(ctx context.Context, prompt []int32, options *GenerateOptions) (*Generation, error) {
	if err := s.handle.acquire(false); err != nil { // the C session lives as long as its generation
		return nil, err
	}
	g := &Generation{session: s, ctx: ctx, events: &events{context: ctx}, forget: func() {}}
	begun := false
	defer func() {
		if !begun {
			g.free()
		}
	}()
	c, err := options.generate(&g.memory, prompt)
	if err != nil {
		return nil, err
	}
	if options != nil {
		g.events.logits, g.events.prefill = options.Logits, options.Progress
	}
	callback, payload, forget := g.events.register(&g.memory)
	g.forget = forget
	var own *C.g4_generation
	err = s.withContext(ctx, func(session *C.g4_session) C.g4_status {
		return C.g4_generation_begin(&own, session, c, callback, payload)
	})
	g.own = own
	if err := g.events.finish(err); err != nil {
		return nil, err
	}
	begun = true
	runtime.SetFinalizer(g, (*Generation).Close)
	return g, nil
}

// Next evaluates one more token, which Piece gives. It is false when something has ended the answer: Err tells whether that was an error,
// Result what it was.
func (g *Generation) Next() bool {
	if g.own == nil || g.ended {
		return false
	}
	var event C.g4_event
	event.struct_size = C.uint32_t(unsafe.Sizeof(event))
	err := g.session.withContext(g.ctx, func(*C.g4_session) C.g4_status { return C.g4_generation_next(&event, g.own) })
	if g.err = g.events.finish(err); g.err == nil && event.kind == C.G4_EVENT_TOKEN {
		g.piece = piece(&event)
		return true
	}
	g.ended = true
	if result, err := g.Result(); g.err == nil && err == nil {
		g.err = result.contextError(g.ctx)
	}
	return false
}

// Piece is the token that Next has made.
func (g *Generation) Piece() Piece { return g.piece }

// Err is what went wrong; the context's error, if that ended the answer.
func (g *Generation) Err() error { return g.err }

// Result is what came of the answer so far.
func (g *Generation) Result() (Result, error) {
	if g.own == nil {
		return Result{}, &Error{StatusState, "the generation is closed"}
	}
	var c C.g4_generate_result
	c.struct_size = C.uint32_t(unsafe.Sizeof(c))
	err := g.session.with(func(*C.g4_session) C.g4_status { return C.g4_generation_result(&c, g.own) })
	return newResult(&c), err
}

// Close ends the answer, complete or not. Closing twice does nothing; a generation that is forgotten closes itself.
func (g *Generation) Close() {
	if g.own != nil {
		runtime.SetFinalizer(g, nil)
		g.free()
	}
}

func (g *Generation) free() {
	C.g4_generation_free(g.own)
	g.own = nil
	g.forget()
	g.memory.free()
	g.session.handle.release(false)
}
