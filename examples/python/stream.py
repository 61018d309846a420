"""Prints a story while it is told."""
import g4

session = g4.Session()
stream = session.chat("Tell me a story about a fox in a forest.", stream=True, seed=1)
for piece in stream:
    print(piece, end="", flush=True)
print(f"\n({len(stream.tokens)} tokens, {stream.message.finish_reason})")
