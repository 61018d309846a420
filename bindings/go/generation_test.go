package g4

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestAnAnswerTokenByToken(t *testing.T) {
	session, prompt := open(t)
	answer, err := session.Begin(background, prompt, greedy)
	expect(t, err == nil, err)
	expect(t, session.Position() == len(prompt), session.Position())
	var text strings.Builder
	count := 0
	for answer.Next() {
		count++
		text.WriteString(answer.Piece().Text)
		expect(t, session.Position() == len(prompt)+count, session.Position())
		tokens, err := session.Tokens()
		expect(t, err == nil && tokens[len(tokens)-1] == answer.Piece().Token, err)
		if count == 2 {
			result, err := answer.Result()
			expect(t, err == nil && result.FinishReason == FinishNone && result.GeneratedTokenCount == 2, result)
			_, err = session.SaveKV(filepath.Join(t.TempDir(), "between"))
			expect(t, err == nil, err)
		}
	}
	expect(t, answer.Err() == nil && !answer.Next(), answer.Err())
	expect(t, strings.Contains(text.String(), "Nairobi"), text.String())
	result, err := answer.Result()
	expect(t, err == nil && result.FinishReason == FinishTurn && result.GeneratedTokenCount == count && result.PromptTokenCount == len(prompt),
		result)
	answer.Close()
	answer.Close()
	_, err = answer.Result()
	expect(t, errors.Is(err, ErrState), err)
}

func TestAnAnswerIsLeftOrEnded(t *testing.T) {
	session, prompt := open(t)
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	answer, err := session.Begin(ctx, prompt, endless)
	expect(t, err == nil && answer.Next(), err)
	cancel()
	expect(t, !answer.Next() && errors.Is(answer.Err(), context.Canceled), answer.Err())
	answer.Close()
	expect(t, session.Position() == len(prompt)+1, session.Position())
	_, err = session.Begin(ctx, nil, endless)
	expect(t, errors.Is(err, context.Canceled), err)

	answer, err = session.Begin(background, nil, endless)
	expect(t, err == nil && answer.Next() && session.Reset() == nil, err)
	expect(t, !answer.Next() && errors.Is(answer.Err(), ErrState), answer.Err()) // the session has moved on
	answer.Close()
	answer, err = session.Begin(background, nil, greedy)
	expect(t, err == nil && !answer.Next() && errors.Is(answer.Err(), ErrState), err) // no logits
	answer.Close()
	_, err = session.Begin(background, prompt, &GenerateOptions{Stops: []string{"a\x00b"}})
	expect(t, errors.Is(err, ErrArgument), err)
}

func TestAnAnswerOutlivesClose(t *testing.T) {
	session, prompt := open(t)
	answer, err := session.Begin(background, prompt, endless)
	expect(t, err == nil && answer.Next(), err)
	session.Close()
	expect(t, !answer.Next() && errors.Is(answer.Err(), ErrState), answer.Err())
	expect(t, session.handle.session != nil, "freed too early")
	answer.Close()
	expect(t, session.handle.session == nil, "not freed")
	_, err = session.Begin(background, prompt, greedy)
	expect(t, errors.Is(err, ErrState), err)
}

func TestAForgottenAnswerClosesItself(t *testing.T) {
	session, prompt := open(t)
	func() {
		answer, err := session.Begin(background, prompt, greedy)
		expect(t, err == nil && answer.Next(), err)
	}()
	users := func() int {
		session.handle.mutex.Lock()
		defer session.handle.mutex.Unlock()
		return session.handle.users
	}
	for i := 0; i < 500 && users() > 0; i++ {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	expect(t, users() == 0, users())
}

func TestHooksOfAnAnswer(t *testing.T) {
	session, prompt := open(t)
	done, steps := 0, 0
	options := &GenerateOptions{MaxTokenCount: 3, Progress: func(now, total int) { done = now }, Logits: func(logits []float32) {
		steps++
		logits[100+steps] = 1e9
	}}
	answer, err := session.Begin(background, prompt, options)
	expect(t, err == nil && done == len(prompt), done)
	for steps := 1; answer.Next(); steps++ {
		expect(t, answer.Piece().Token == int32(100+steps), answer.Piece())
	}
	result, err := answer.Result()
	expect(t, err == nil && answer.Err() == nil && steps == 3 && result.FinishReason == FinishLength, result)

	answer.Close()
	expect(t, session.Reset() == nil, "reset")
	defer func() { expect(t, recover() == "mine" && session.handle.users == 0, "the panic is lost") }()
	_, _ = session.Begin(background, prompt, &GenerateOptions{Progress: func(now, total int) { panic("mine") }})
}
