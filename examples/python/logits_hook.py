"""A hook decides what the model may say: here, nothing that has an "e" in it."""
import numpy as np

import g4

with g4.Session() as session:
    with_e = [id for id in range(len(session.tokenizer)) if "e" in session.detokenize([id]).lower()]

    def no_e(tokens, logits):  # the ids so far; float32 [V], to be changed in place
        logits[with_e] = -np.inf

    text = session.chat("Tell me a story about a fox in a forest.", logits_hook=no_e, max_tokens=40, seed=1).text
    print(text)
    assert "e" not in text
