// Reads a prompt, then streams the answer; Ctrl-C ends it:
//
//	go run . MODEL.gguf '[{"role": "user", "content": "What is the capital of Kenya?"}]'
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"g4"
)

func answer(ctx context.Context, model, conversation string) error {
	session, err := g4.Open(model, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	prompt, err := session.Tokenizer().ChatTokenize(conversation, nil)
	if err != nil {
		return err
	}
	if err := session.Prefill(ctx, prompt); err != nil {
		return err
	}
	_, err = session.Generate(ctx, nil, nil, func(piece g4.Piece) error {
		_, err := fmt.Print(piece.Text)
		return err
	})
	return err
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage:", os.Args[0], "MODEL.gguf CONVERSATION")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := answer(ctx, os.Args[1], os.Args[2])
	fmt.Println()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
