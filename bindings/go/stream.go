//go:build go1.23

package g4

import (
	"context"
	"iter"
)

// Stream is Generate as an iterator: for piece, err := range session.Stream(ctx, prompt, nil). Leaving the loop ends the answer; an
// error comes last.
func (s *Session) Stream(ctx context.Context, prompt []int32, options *GenerateOptions) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		left := false
		_, err := s.Generate(ctx, prompt, options, func(piece Piece) error {
			if left = !yield(piece, nil); left {
				return Stop
			}
			return nil
		})
		if err != nil && !left {
			yield(Piece{}, err)
		}
	}
}
