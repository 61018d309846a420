//go:build go1.23

package g4

import (
	"context"
	"iter"
)

// Stream is Begin as an iterator: for piece, err := range session.Stream(ctx, prompt, nil). Leaving the loop ends the answer; an
// error comes last.
func (s *Session) Stream(ctx context.Context, prompt []int32, options *GenerateOptions) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		answer, err := s.Begin(ctx, prompt, options)
		if err != nil {
			yield(Piece{}, err)
			return
		}
		defer answer.Close()
		for answer.Next() {
			if !yield(answer.Piece(), nil) {
				return
			}
		}
		if answer.Err() != nil {
			yield(Piece{}, answer.Err())
		}
	}
}
