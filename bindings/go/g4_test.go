package g4

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	demo  = "../../examples/models/g4-demo-q8_0.gguf"
	kenya = `[{"role": "user", "content": "What is the capital of Kenya?"}]`
)

var (
	background = context.Background()
	greedy     = &GenerateOptions{Sampling: Sampling{Greedy: true}}
	// Goes on until it is stopped: each use of a token makes it more likely.
	endless = &GenerateOptions{Sampling: Sampling{Greedy: true, FrequencyPenalty: -100}, IgnoreStop: true}
)

func must[T any](t *testing.T) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func open(t *testing.T) (*Session, []int32) {
	t.Helper()
	session := must[*Session](t)(Open(demo, &Options{ThreadCount: 1}))
	t.Cleanup(func() { session.Close() })
	return session, must[[]int32](t)(session.Tokenizer().ChatTokenize(kenya, nil))
}

func answer(t *testing.T, session *Session, prompt []int32) string {
	t.Helper()
	var text strings.Builder
	must[Result](t)(session.Generate(background, prompt, greedy, func(piece Piece) error {
		text.WriteString(piece.Text)
		return nil
	}))
	return text.String()
}

func expect(t *testing.T, condition bool, values ...any) {
	t.Helper()
	if !condition {
		t.Fatal(values...)
	}
}

func expectStatus(t *testing.T, err error, status *Error, words ...string) {
	t.Helper()
	expect(t, errors.Is(err, status), "got ", err, ", want ", status)
	for _, word := range words {
		expect(t, strings.Contains(err.Error(), word), word, " is not in ", err)
	}
}

func TestAnAnswerStreams(t *testing.T) {
	session, prompt := open(t)
	var tokens []int32
	var text string
	var done, total int
	options := *greedy
	options.Progress = func(d, t int) { done, total = d, t }
	result := must[Result](t)(session.Generate(background, prompt, &options, func(piece Piece) error {
		expect(t, piece.Channel == Text, piece)
		tokens = append(tokens, piece.Token)
		text += piece.Text
		return nil
	}))
	expect(t, strings.Contains(text, "Nairobi"), text)
	expect(t, result.FinishReason == FinishTurn && result.PromptTokenCount == len(prompt) && result.GeneratedTokenCount == len(tokens), result)
	expect(t, done == len(prompt) && total == len(prompt), done, total)
	expect(t, session.Position() == len(prompt)+len(tokens), session.Position())
	held := must[[]int32](t)(session.Tokens())
	expect(t, reflect.DeepEqual(held[len(prompt):], tokens), held)
	message := must[string](t)(session.Tokenizer().ChatParse(tokens))
	expect(t, strings.Contains(message, "Nairobi") && strings.Contains(message, `"role":"assistant"`), message)
}

func TestACallbackMayEndTheAnswer(t *testing.T) {
	session, prompt := open(t)
	result := must[Result](t)(session.Generate(background, prompt, endless, func(Piece) error { return Stop }))
	expect(t, result.FinishReason == FinishCallback && result.GeneratedTokenCount == 1, result)
	own := errors.New("my own")
	_, err := session.Generate(background, nil, endless, func(Piece) error { return own })
	expect(t, err == own, err)
	func() {
		defer func() { expect(t, recover() == "on purpose", "another panic") }()
		session.Generate(background, nil, endless, func(Piece) error { panic("on purpose") })
	}()
	_, err = session.Generate(background, nil, endless, func(Piece) error {
		_, err := session.Tokens()
		return err
	})
	expectStatus(t, err, ErrState, "another call")
	expect(t, session.Reset() == nil && strings.Contains(answer(t, session, prompt), "Nairobi"), "unusable")
}

func TestAContextEndsTheAnswer(t *testing.T) {
	session, prompt := open(t)
	ctx, cancel := context.WithCancel(background)
	count := 0
	result, err := session.Generate(ctx, prompt, endless, func(Piece) error {
		if count++; count == 3 {
			cancel()
		}
		return nil
	})
	held := len(prompt) + result.GeneratedTokenCount // the third may have been cancelled while it was evaluated
	expect(t, errors.Is(err, context.Canceled) && count == 3 && result.GeneratedTokenCount >= 2, result, err)
	expect(t, session.Position() == held, session.Position())
	_, err = session.Generate(ctx, prompt, greedy, nil)
	expect(t, errors.Is(err, context.Canceled) && session.Position() == held, err)
	expect(t, errors.Is(session.Prefill(ctx, prompt), context.Canceled), "prefill")

	deadline, release := context.WithTimeout(background, 20*time.Millisecond)
	defer release()
	_, err = session.Generate(deadline, nil, endless, func(Piece) error {
		time.Sleep(5 * time.Millisecond)
		return nil
	})
	expect(t, errors.Is(err, context.DeadlineExceeded), err)
	expect(t, session.Reset() == nil && strings.Contains(answer(t, session, prompt), "Nairobi"), "unusable")
}

func TestCancelAndCloseWhileACallRuns(t *testing.T) {
	session, prompt := open(t)
	result := must[Result](t)(session.Generate(background, prompt, endless, func(Piece) error {
		go session.Cancel()
		time.Sleep(time.Millisecond)
		return nil
	}))
	expect(t, result.FinishReason == FinishCancelled, result)
	started := make(chan struct{})
	ended := make(chan Result)
	go func() {
		var once sync.Once
		result, _ := session.Generate(background, nil, endless, func(Piece) error {
			once.Do(func() { close(started) })
			return nil
		})
		ended <- result
	}()
	<-started
	session.Close()
	result = <-ended
	expect(t, result.FinishReason == FinishCancelled || result.FinishReason == FinishLength, result)
}

func TestUseAfterClose(t *testing.T) {
	session, prompt := open(t)
	tokenizer := session.Tokenizer()
	session.Close()
	session.Close()
	session.Cancel()
	expectStatus(t, session.Prefill(background, prompt), ErrState, "closed")
	_, err := tokenizer.Tokenize("a", false)
	expectStatus(t, err, ErrState, "closed")
	expect(t, tokenizer.VocabCount() == 0 && !tokenizer.IsStop(1), "closed")
	own := must[*Tokenizer](t)(OpenTokenizer(demo))
	own.Close()
	own.Close()
	_, err = own.Detokenize([]int32{5}, false)
	expectStatus(t, err, ErrState, "closed")
}

func TestForgottenSessionsCloseThemselves(t *testing.T) {
	closed := make(chan *handle, 1)
	func() {
		session := must[*Session](t)(Open(demo, &Options{ThreadCount: 1}))
		must[[]int32](t)(session.Tokenizer().Tokenize("a", false))
		runtime.SetFinalizer(session.handle, nil)
		runtime.SetFinalizer(session.handle, func(h *handle) {
			h.close()
			closed <- h
		})
	}()
	for {
		runtime.GC()
		select {
		case h := <-closed:
			expect(t, h.session == nil, "not freed")
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	_, err := Open("/no/such/file.gguf", nil)
	expectStatus(t, err, ErrIO, "/no/such/file.gguf")
	_, err = Open("a\x00b", nil)
	expectStatus(t, err, ErrArgument, "zero byte")
	_, err = Open(demo, &Options{CPU: "abacus"})
	expectStatus(t, err, ErrArgument, "abacus")
	_, err = Open(demo, &Options{ContextCount: -1})
	expectStatus(t, err, ErrArgument, "negative")
	expect(t, !errors.Is(err, ErrIO) && err.(*Error).Status.String() == "wrong argument", err)

	session, prompt := open(t)
	_, err = session.Logits()
	expectStatus(t, err, ErrState)
	expectStatus(t, session.Prefill(background, nil), ErrArgument)
	expectStatus(t, session.Prefill(background, []int32{-1}), ErrArgument)
	expectStatus(t, session.Prefill(background, make([]int32, 3000)), ErrContextFull)
	_, err = session.LoadKV(demo, nil)
	expectStatus(t, err, ErrFormat)
	_, err = session.Tokenizer().ChatTokenize("[{}]", nil)
	expectStatus(t, err, ErrArgument, "role")
	_, err = session.Tokenizer().Detokenize([]int32{1 << 30}, false)
	expectStatus(t, err, ErrArgument)
	_, err = session.Generate(background, prompt, &GenerateOptions{Stops: []string{"a\x00"}}, nil)
	expectStatus(t, err, ErrArgument, "zero byte")
	_, err = session.Sample(&Sampling{TopK: -2})
	expectStatus(t, err, ErrArgument, "top_k")
	expect(t, session.Position() == 0, session.Position())
}

func TestLogitsAndSampling(t *testing.T) {
	session, prompt := open(t)
	expect(t, session.Prefill(background, prompt) == nil, "prefill")
	logits := must[[]float32](t)(session.Logits())
	best := 0
	for i, logit := range logits {
		if logit > logits[best] {
			best = i
		}
	}
	token := must[int32](t)(session.Sample(&Sampling{Greedy: true}))
	expect(t, int(token) == best && len(logits) == session.Tokenizer().VocabCount(), token, best)
	other := must[int32](t)(session.Sample(&Sampling{Greedy: true, Biases: []LogitBias{{token, float32(math.Inf(-1))}}}))
	expect(t, other != token, other)
	expect(t, must[int32](t)(session.Decode(&Sampling{Greedy: true})) == token, "decode")
	var picked []int32
	options := &GenerateOptions{MaxTokenCount: 2, IgnoreStop: true, Logits: func(logits []float32) { logits[77] = 1e6 }}
	result := must[Result](t)(session.Generate(background, nil, options, func(piece Piece) error {
		picked = append(picked, piece.Token)
		return nil
	}))
	expect(t, reflect.DeepEqual(picked, []int32{77, 77}) && result.FinishReason == FinishLength, picked, result)
}

func TestStateIsSavedRestoredAndRewound(t *testing.T) {
	session, prompt := open(t)
	expect(t, session.Prefill(background, prompt) == nil, "prefill")
	logits := must[[]float32](t)(session.Logits())
	path := filepath.Join(t.TempDir(), "demo.g4kv")
	bytes := must[int64](t)(session.SaveKV(path))
	file := must[os.FileInfo](t)(os.Stat(path))
	expect(t, file.Size() == bytes, bytes)
	probe := must[KVProbe](t)(ProbeKV(path))
	expect(t, probe.PositionCount == len(prompt) && probe.HasLogits && probe.KVType == "f16", probe)
	expect(t, probe.Model == must[[16]byte](t)(session.ModelFingerprint()), probe)

	other, _ := open(t)
	expect(t, must[int](t)(other.LoadKV(path, nil)) == len(prompt), "load")
	expect(t, reflect.DeepEqual(must[[]float32](t)(other.Logits()), logits), "logits")
	expect(t, must[int](t)(other.LoadKV(path, prompt[:5])) == 4, "load a part")
	expect(t, must[int](t)(other.Extend(background, prompt)) == 4, "extend")
	expect(t, reflect.DeepEqual(must[[]float32](t)(other.Logits()), logits), "logits")
	expect(t, other.Truncate(3, false) == nil && other.Truncate(2, true) == nil && other.Position() == 2 && other.RewindMin() == 0, "truncate")
	fork := must[*Session](t)(other.Fork())
	other.Close()
	expect(t, fork.Prefill(background, prompt[2:]) == nil, "prefill")
	expect(t, reflect.DeepEqual(must[[]float32](t)(fork.Logits()), logits), "logits")
}

func TestPromptsAreKeptInACache(t *testing.T) {
	cache := Cache{Path: filepath.Join(t.TempDir(), "cache")}
	for i := 0; i < 2; i++ {
		session := must[*Session](t)(Open(demo, &Options{ThreadCount: 1, KVType: KVQ8_0, RewindCount: 64}))
		defer session.Close()
		prompt := must[[]int32](t)(session.Tokenizer().ChatTokenize(kenya, nil))
		cached := must[Cached](t)(session.ExtendCached(background, prompt, cache))
		expect(t, cached.Problem == 0 && session.Position() == len(prompt), cached)
		expect(t, (cached.ReusedCount > 0) == (i == 1) && (i == 1 || cached.WrittenBytes > 0), cached)
		expect(t, session.Reset() == nil, "reset")
		cached = must[Cached](t)(session.ExtendCached(background, prompt, Cache{Path: "/proc/no/such"}))
		expect(t, cached.Problem != 0, cached)
	}
}

func TestSessionsOfOneModelRunAtOnce(t *testing.T) {
	session, prompt := open(t)
	var wait sync.WaitGroup
	answers := make([]string, 4)
	for i := range answers {
		fork := must[*Session](t)(session.Fork())
		wait.Add(1)
		go func(i int) {
			defer wait.Done()
			defer fork.Close()
			fork.Generate(background, prompt, greedy, func(piece Piece) error {
				answers[i] += piece.Text
				return nil
			})
		}(i)
	}
	wait.Wait()
	for _, text := range answers {
		expect(t, strings.Contains(text, "Nairobi"), text)
	}
}

func TestTextAndTokens(t *testing.T) {
	tokenizer := must[*Tokenizer](t)(OpenTokenizer(demo))
	const text = "A fox, 27 + 36 and ü 🦊"
	tokens := must[[]int32](t)(tokenizer.Tokenize(text, false))
	expect(t, must[string](t)(tokenizer.Detokenize(tokens, false)) == text, tokens)
	expect(t, len(must[[]int32](t)(tokenizer.Tokenize("", false))) == 0, "empty")
	expect(t, len(must[[]int32](t)(tokenizer.Tokenize(text, true))) == len(tokens)+1, "bos")
	expect(t, len(must[[]int32](t)(tokenizer.TokenizeSpecial("<|turn>", false))) == 1, "special")
	rendered := must[string](t)(tokenizer.ChatRender(kenya, &ChatOptions{NoGenerationPrompt: true}))
	expect(t, strings.HasPrefix(rendered, "<bos>") && strings.Contains(rendered, "Kenya"), rendered)
}

func TestWhatASessionTellsAboutItself(t *testing.T) {
	var done, total uint64
	options := &Options{ContextCount: 128, ThreadCount: 1, KVType: KVF32, Progress: func(d, t uint64) { done, total = d, t }}
	session := must[*Session](t)(Open(demo, options))
	defer session.Close()
	expect(t, done == total && total > 1e6, done, total)
	info := must[Info](t)(session.Info())
	expect(t, info.Architecture == "gemma4" && info.LayerCount == 10 && info.ContextCount == 128 && info.KVType == KVF32, info)
	expect(t, strings.Contains(strings.Join(CPUs(), " "), info.CPU), info.CPU)
	expect(t, session.Prefill(background, []int32{2, 3, 4}) == nil, "prefill")
	expect(t, must[Stats](t)(session.Stats()).EvaluatedTokenCount == 3, "stats")
	estimate := must[MemoryEstimate](t)(Estimate(demo, options))
	expect(t, estimate.TotalBytes == estimate.WeightsBytes+estimate.KVBytes+estimate.ScratchBytes, estimate)
	prepared := filepath.Join(t.TempDir(), "demo.g4")
	expect(t, Prepare(demo, prepared, options) == nil && done == total, done, total)
	other := must[*Session](t)(Open(prepared, options))
	defer other.Close()
	expect(t, other.Prefill(background, []int32{2, 3, 4}) == nil, "prefill")
	expect(t, slices.Equal(must[[]float32](t)(other.Logits()), must[[]float32](t)(session.Logits())), "logits")
	expect(t, errors.Is(Prepare(demo, demo, nil), ErrArgument), "onto itself")
	expect(t, ABIVersion() == 1 && strings.Count(Version(), ".") == 2, Version())
}
