"""Several stories from one beginning: a fork starts where the session stands, and shares what was computed."""
import g4

with g4.Session() as session:
    session.prefill(session.tokenizer.tokenize_chat("Tell me a story about a fox in a forest."))
    for seed in range(3):
        with session.fork() as fork:
            print(f"{seed}:", fork.generate(max_tokens=30, seed=seed))
