"""What goes wrong says what to do, and leaves the session usable."""
import g4

try:
    g4.Session("missing.gguf")
except g4.FileError as error:
    print(type(error).__name__, "-", error)

with g4.Session(context=64) as session:
    try:
        session.prefill(session.tokenize("word " * 100))
    except g4.ContextFullError as error:
        print(type(error).__name__, "-", error)
    print(session.chat("What is the capital of Kenya?", temperature=0))
