//go:build go1.23

package g4

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestAnAnswerAsAnIterator(t *testing.T) {
	session, prompt := open(t)
	var text strings.Builder
	for piece, err := range session.Stream(background, prompt, greedy) {
		expect(t, err == nil, err)
		text.WriteString(piece.Text)
	}
	expect(t, strings.Contains(text.String(), "Nairobi"), text.String())

	expect(t, session.Reset() == nil, "reset")
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	for range session.Stream(ctx, prompt, endless) {
		break
	}
	expect(t, session.Position() == len(prompt)+1, session.Position())
	cancel()
	var last error
	for _, err := range session.Stream(ctx, nil, endless) {
		last = err
	}
	expect(t, errors.Is(last, context.Canceled), last)
}
