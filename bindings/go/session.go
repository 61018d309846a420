package g4

/*
#include "callback.h"
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"errors"
	"runtime"
	"time"
	"unsafe"
)

// Session is one conversation: weights (shared with forks), KV cache, position. It may be used from any goroutine, but serves one call
// at a time: a second one meanwhile fails with ErrState. Position, RewindMin, Cancel, Close and Tokenizer may be called at any time.
type Session struct {
	handle    *handle
	tokenizer *Tokenizer
}

// Channel is the part of an answer a token belongs to.
type Channel int32

// The channels.
const (
	Text     Channel = C.G4_CHANNEL_TEXT
	Thought  Channel = C.G4_CHANNEL_THOUGHT
	ToolCall Channel = C.G4_CHANNEL_TOOL_CALL
)

// Piece is one token of an answer, and the whole characters to show with it, perhaps none.
type Piece struct {
	Token   int32
	Channel Channel
	Text    string
}

// FinishReason tells why a generation ended.
type FinishReason int32

// The reasons.
const (
	FinishNone       FinishReason = C.G4_FINISH_NONE        // it has not ended yet
	FinishTurn       FinishReason = C.G4_FINISH_TURN        // the model ended its turn
	FinishEOS        FinishReason = C.G4_FINISH_EOS         // <eos>, or another end that the file declares
	FinishToolCall   FinishReason = C.G4_FINISH_TOOL_CALL   // the model called a tool and waits for its answer
	FinishStopString FinishReason = C.G4_FINISH_STOP_STRING // one of GenerateOptions.Stops came up
	FinishLength     FinishReason = C.G4_FINISH_LENGTH      // MaxTokenCount, or the context is full
	FinishCallback   FinishReason = C.G4_FINISH_CALLBACK    // the callback returned an error
	FinishCancelled  FinishReason = C.G4_FINISH_CANCELLED   // Cancel, or the context is done
)

// Result is what came of a generation.
type Result struct {
	FinishReason        FinishReason
	PromptTokenCount    int // evaluated for the prompt
	ReusedTokenCount    int // of the prompt, kept instead of evaluated (GenerateOptions.Extend)
	GeneratedTokenCount int // the token that ended it included
	PrefillTime         time.Duration
	DecodeTime          time.Duration
}

func newResult(c *C.g4_generate_result) Result {
	return Result{
		FinishReason:        FinishReason(c.finish_reason),
		PromptTokenCount:    int(c.prompt_token_count),
		ReusedTokenCount:    int(c.reused_token_count),
		GeneratedTokenCount: int(c.generated_token_count),
		PrefillTime:         time.Duration(c.prefill_ns),
		DecodeTime:          time.Duration(c.decode_ns),
	}
}

// contextError is that of the context, if it is what has ended the answer.
func (result Result) contextError(ctx context.Context) error {
	if stopped := result.FinishReason == FinishCallback || result.FinishReason == FinishCancelled; stopped && ctx != nil {
		return ctx.Err()
	}
	return nil
}

// Stop, returned by a callback of Generate, ends the answer without an error.
var Stop = errors.New("stop")

func newSession(session *C.g4_session) *Session {
	h := &handle{session: session}
	h.look()
	runtime.SetFinalizer(h, (*handle).close)
	return &Session{handle: h, tokenizer: &Tokenizer{session: h}}
}

// Open opens a Gemma 4 GGUF file at position 0. The file must stay unchanged while it is in use.
func Open(path string, options *Options) (*Session, error) {
	var memory arena
	defer memory.free()
	if err := noZero("the path", path); err != nil {
		return nil, err
	}
	var e events
	c, forget, err := options.opening(&memory, &e)
	if err != nil {
		return nil, err
	}
	defer forget()
	name := memory.text(path)
	var session *C.g4_session
	err = call(func() C.g4_status { return C.g4_session_open(&session, name, &c) })
	if err = e.finish(err); err != nil {
		return nil, err
	}
	return newSession(session), nil
}

// Prepare writes the model at path to out as a prepared file, which opens at once on this machine. Of the options count CPU, ThreadCount,
// PLEPath and Progress.
func Prepare(path, out string, options *Options) error {
	var memory arena
	defer memory.free()
	for _, name := range []string{path, out} {
		if err := noZero("the path", name); err != nil {
			return err
		}
	}
	var e events
	c, forget, err := options.opening(&memory, &e)
	if err != nil {
		return err
	}
	defer forget()
	from, to := memory.text(path), memory.text(out)
	return e.finish(call(func() C.g4_status { return C.g4_prepare(from, to, &c) }))
}

// opening is the options in C with their progress on its way to e; forget ends that.
func (o *Options) opening(memory *arena, e *events) (c C.g4_session_options, forget func(), err error) {
	forget = func() {}
	if c, err = o.session(memory); err == nil && o != nil && o.Progress != nil {
		e.load = o.Progress
		c.callback, c.payload, forget = e.register(memory)
	}
	return c, forget, err
}

// Close frees the session. A call that runs is ended first. Closing twice does nothing; a session that is forgotten closes itself.
func (s *Session) Close() error {
	runtime.SetFinalizer(s.handle, nil)
	s.handle.close()
	return nil
}

// Cancel ends the call that runs on the session, if any; the session stays usable.
func (s *Session) Cancel() { s.handle.cancel() }

// Tokenizer is that of the session, usable until the session is closed.
func (s *Session) Tokenizer() *Tokenizer { return s.tokenizer }

// Position is the number of tokens held, as of the last call that has ended.
func (s *Session) Position() int {
	s.handle.mutex.Lock()
	defer s.handle.mutex.Unlock()
	return s.handle.position
}

// RewindMin is the position from which on Truncate is always exact.
func (s *Session) RewindMin() int {
	s.handle.mutex.Lock()
	defer s.handle.mutex.Unlock()
	return s.handle.rewindMin
}

// with makes a call on the session, the only one meanwhile.
func (s *Session) with(function func(session *C.g4_session) C.g4_status) error {
	if err := s.handle.acquire(true); err != nil {
		return err
	}
	defer s.handle.release(true)
	return call(func() C.g4_status { return function(s.handle.session) })
}

// withContext is with, for calls that a context may end.
func (s *Session) withContext(ctx context.Context, function func(session *C.g4_session) C.g4_status) error {
	if ctx != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	err := s.with(func(session *C.g4_session) C.g4_status {
		stop := s.handle.watch(ctx)
		defer stop()
		return function(session)
	})
	if errors.Is(err, ErrCancelled) && ctx != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Fork makes a second session of the same model that starts as an exact copy of this one. Costs no computation and little memory.
func (s *Session) Fork() (*Session, error) {
	var fork *C.g4_session
	if err := s.with(func(session *C.g4_session) C.g4_status { return C.g4_session_fork(&fork, session) }); err != nil {
		return nil, err
	}
	return newSession(fork), nil
}

// Prefill appends tokens; afterwards Logits gives those after the last of them. All or nothing.
func (s *Session) Prefill(ctx context.Context, tokens []int32) error {
	return s.withContext(ctx, func(session *C.g4_session) C.g4_status {
		return C.g4_prefill(session, data[int32, C.int32_t](tokens), C.size_t(len(tokens)), nil)
	})
}

// Extend makes the session hold exactly these tokens, a whole conversation, and evaluates only what is new of it. It returns how many
// positions were kept.
func (s *Session) Extend(ctx context.Context, tokens []int32) (int, error) {
	var reused C.size_t
	err := s.withContext(ctx, func(session *C.g4_session) C.g4_status {
		return C.g4_extend(&reused, session, data[int32, C.int32_t](tokens), C.size_t(len(tokens)), nil)
	})
	return int(reused), err
}

// Logits gives a copy of the logits after the last position, [vocabulary].
func (s *Session) Logits() (logits []float32, err error) {
	err = s.with(func(session *C.g4_session) C.g4_status {
		var values *C.float
		var count C.size_t
		status := C.g4_logits(&values, &count, session)
		if status == C.G4_OK {
			logits = append(logits, unsafe.Slice((*float32)(values), int(count))...)
		}
		return status
	})
	return logits, err
}

// Sample picks the next token and changes nothing.
func (s *Session) Sample(sampling *Sampling) (int32, error) {
	var memory arena
	defer memory.free()
	c := sampling.c(&memory)
	var token C.int32_t
	err := s.with(func(session *C.g4_session) C.g4_status { return C.g4_sample(&token, session, &c) })
	return int32(token), err
}

// Decode picks the next token and evaluates it; it may be one that ends the answer (Tokenizer.IsStop).
func (s *Session) Decode(sampling *Sampling) (int32, error) {
	var memory arena
	defer memory.free()
	c := sampling.c(&memory)
	var token C.int32_t
	err := s.with(func(session *C.g4_session) C.g4_status { return C.g4_decode(&token, session, &c) })
	return int32(token), err
}

// Generate evaluates the prompt (none: goes on from the current logits), then generates until something ends it, and says what. onPiece
// may be nil; an error from it ends the answer and is returned, Stop ends it without an error. When the context is done, the answer
// ends and the context's error is returned. Tokens generated so far stay in the session.
func (s *Session) Generate(ctx context.Context, prompt []int32, options *GenerateOptions, onPiece func(Piece) error) (Result, error) {
	var memory arena
	defer memory.free()
	c, err := options.generate(&memory, prompt)
	if err != nil {
		return Result{}, err
	}
	e := events{context: ctx, piece: onPiece}
	if options != nil {
		e.logits, e.prefill = options.Logits, options.Progress
	}
	callback, payload, forget := e.register(&memory)
	defer forget()
	var result C.g4_generate_result
	result.struct_size = C.uint32_t(unsafe.Sizeof(result))
	err = s.withContext(ctx, func(session *C.g4_session) C.g4_status {
		return C.g4_generate(&result, session, c, callback, payload)
	})
	out := newResult(&result)
	if err == nil && e.err == nil {
		err = out.contextError(ctx)
	}
	return out, e.finish(err)
}
