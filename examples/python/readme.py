"""The snippet of README.md."""
import g4

session = g4.Session()                   # the demo model; g4.Session("model.gguf") opens yours
for piece in session.chat("What is the capital of Kenya?", stream=True):
    print(piece, end="", flush=True)

ids = session.tokenize(" And of Norway?", bos=False)
logits = session.prefill(ids, logits="all")      # numpy, float32 [len(ids), V]
session.save_kv("talk.g4kv")             # no prompt is read twice: load_kv, fork, truncate
print(f"\n{g4.Session().load_kv('talk.g4kv')} positions are back")
