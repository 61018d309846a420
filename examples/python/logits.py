"""The most likely next tokens after a text, at each of its tokens."""
import numpy as np

import g4

with g4.Session() as session:
    ids = session.tokenize("The capital of Kenya is")
    logits = session.prefill(ids, logits="all")  # float32 [len(ids), V]
    for position, row in enumerate(logits):
        probabilities = np.exp(row - row.max())
        probabilities /= probabilities.sum()
        best = np.argsort(-row)[:3]
        print(f"{session.detokenize(ids[:position + 1])!r:28}",
              ", ".join(f"{session.detokenize([id])!r} {probabilities[id]:.0%}" for id in best))
