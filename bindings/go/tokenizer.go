package g4

/*
#include <g4/g4.h>
#include <stdlib.h>
*/
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

// Tokenizer is a vocabulary and a chat format. It never changes: use it from any number of goroutines at once.
type Tokenizer struct {
	session *handle // whose tokenizer it is, or nil
	mutex   sync.RWMutex
	own     *C.g4_tokenizer
}

// OpenTokenizer reads the tokenizer of a GGUF file, which may hold no tensors.
func OpenTokenizer(path string) (*Tokenizer, error) {
	if err := noZero("the path", path); err != nil {
		return nil, err
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	tokenizer := &Tokenizer{}
	if err := call(func() C.g4_status { return C.g4_tokenizer_open(&tokenizer.own, name) }); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(tokenizer, (*Tokenizer).Close)
	return tokenizer, nil
}

// Close frees a tokenizer of OpenTokenizer; that of a session ends with the session.
func (t *Tokenizer) Close() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	C.g4_tokenizer_free(t.own)
	t.own = nil
	runtime.SetFinalizer(t, nil)
}

// with calls function with the C tokenizer, which lives until it returns.
func (t *Tokenizer) with(function func(tokenizer *C.g4_tokenizer) error) error {
	if t.session != nil {
		if err := t.session.acquire(false); err != nil {
			return err
		}
		defer t.session.release(false)
		return function(C.g4_session_tokenizer(t.session.session))
	}
	defer runtime.KeepAlive(t)
	t.mutex.RLock()
	defer t.mutex.RUnlock()
	if t.own == nil {
		return &Error{StatusState, "the tokenizer is closed"}
	}
	return function(t.own)
}

// fill fetches a result of variable length: with room for guess elements first, once more if that was too little.
func fill[T any](guess int, fetch func(data *T, capacity C.size_t, needed *C.size_t) C.g4_status) ([]T, error) {
	values := make([]T, guess+1)
	for {
		var needed C.size_t
		err := call(func() C.g4_status { return fetch(&values[0], C.size_t(len(values)), &needed) })
		if err == nil {
			return values[:needed], nil
		}
		if int(needed) <= len(values) || err.(*Error).Status != StatusBuffer {
			return nil, err
		}
		values = make([]T, int(needed))
	}
}

// data points at the elements, which C only reads during the call.
func data[T, U any](values []T) *U {
	if len(values) == 0 {
		return nil
	}
	return (*U)(unsafe.Pointer(&values[0]))
}

// Tokenize gives the ids of a text, all of which is plain text; bos puts <bos> in front.
func (t *Tokenizer) Tokenize(text string, bos bool) ([]int32, error) {
	return t.tokenize(text, flag(bos, C.G4_TOKENIZE_BOS))
}

// TokenizeSpecial is Tokenize, but control tokens written in the text count as such. Not for text of strangers.
func (t *Tokenizer) TokenizeSpecial(text string, bos bool) ([]int32, error) {
	return t.tokenize(text, flag(bos, C.G4_TOKENIZE_BOS)|C.G4_TOKENIZE_SPECIAL)
}

func (t *Tokenizer) tokenize(text string, flags C.uint32_t) (tokens []int32, err error) {
	bytes := []byte(text + "\x00")
	err = t.with(func(tokenizer *C.g4_tokenizer) error {
		tokens, err = fill(len(text)/2+8, func(out *int32, capacity C.size_t, needed *C.size_t) C.g4_status {
			return C.g4_tokenize((*C.int32_t)(out), capacity, needed, tokenizer, data[byte, C.char](bytes), C.size_t(len(text)), flags)
		})
		return err
	})
	return tokens, err
}

// Detokenize gives the text of ids; special writes control tokens out as <…>. One token alone may end inside a character.
func (t *Tokenizer) Detokenize(tokens []int32, special bool) (string, error) {
	var text []byte
	err := t.with(func(tokenizer *C.g4_tokenizer) (err error) {
		text, err = fill(len(tokens)*8+8, func(out *byte, capacity C.size_t, needed *C.size_t) C.g4_status {
			return C.g4_detokenize((*C.char)(unsafe.Pointer(out)), capacity, needed, tokenizer, data[int32, C.int32_t](tokens),
				C.size_t(len(tokens)), flag(special, C.G4_DETOKENIZE_SPECIAL))
		})
		return err
	})
	return string(text), err
}

// VocabCount is the number of tokens; 0 if the tokenizer is closed.
func (t *Tokenizer) VocabCount() (count int) {
	_ = t.with(func(tokenizer *C.g4_tokenizer) error {
		count = int(C.g4_vocab_count(tokenizer))
		return nil
	})
	return count
}

// IsStop tells whether a token ends an answer.
func (t *Tokenizer) IsStop(token int32) (stop bool) {
	_ = t.with(func(tokenizer *C.g4_tokenizer) error {
		stop = C.g4_is_stop(tokenizer, C.int32_t(token)) != 0
		return nil
	})
	return stop
}

// ChatRender gives a conversation (JSON, as in OpenAI's chat API) as the text of the official template, for looking at.
func (t *Tokenizer) ChatRender(conversation string, options *ChatOptions) (string, error) {
	var text []byte
	c, bytes := options.c(), []byte(conversation+"\x00")
	err := t.with(func(tokenizer *C.g4_tokenizer) (err error) {
		text, err = fill(len(conversation)+256, func(out *byte, capacity C.size_t, needed *C.size_t) C.g4_status {
			return C.g4_chat_render((*C.char)(unsafe.Pointer(out)), capacity, needed, tokenizer, data[byte, C.char](bytes),
				C.size_t(len(conversation)), &c)
		})
		return err
	})
	return string(text), err
}

// ChatTokenize gives a conversation (JSON) as the ids to evaluate, <bos> included. No message can forge a turn or a tool call.
func (t *Tokenizer) ChatTokenize(conversation string, options *ChatOptions) ([]int32, error) {
	return t.ChatTokenizeWith(conversation, options)
}

// ChatParse gives the ids of an answer as a JSON message, ready to be appended to the conversation.
func (t *Tokenizer) ChatParse(tokens []int32) (string, error) {
	var json []byte
	err := t.with(func(tokenizer *C.g4_tokenizer) (err error) {
		json, err = fill(len(tokens)*8+256, func(out *byte, capacity C.size_t, needed *C.size_t) C.g4_status {
			return C.g4_chat_parse((*C.char)(unsafe.Pointer(out)), capacity, needed, tokenizer, data[int32, C.int32_t](tokens),
				C.size_t(len(tokens)))
		})
		return err
	})
	return string(json), err
}
