"""g4 runs Gemma 4 models on CPUs.

    import g4
    session = g4.Session()                  # the demo model; g4.Session("model.gguf") opens yours
    for piece in session.chat("What is the capital of Kenya?", stream=True):
        print(piece, end="", flush=True)

Arrays are numpy; logits are float32 [V], V being the size of the vocabulary. What can go wrong raises a g4.Error or a
TypeError that says what to do.
"""

from ._arguments import SamplingOptions
from ._core import abi_version as abi_version
from ._core import version as _version
from ._core import cpus as _cpus
from ._errors import (ArgumentError, CacheWarning, CancelledError, ContextFullError, Error, FileError, FormatError,
                      InternalError, MismatchError, OutOfMemoryError, StateError, UnsupportedError)
from ._inputs import audio_tokens, image_tokens
from ._media import Media, Span
from ._message import Message, Piece, Stream, ToolCall, Usage
from ._session import Cache, Session, demo_model, estimate, prepare, probe_kv
from ._tokenizer import Tokenizer

__version__ = _version()


def cpus() -> list[str]:
    """The names of the instruction sets that this machine can run, best first: for the option `cpu`."""
    return _cpus().split()


__all__ = ["ArgumentError", "Cache", "CacheWarning", "CancelledError", "ContextFullError", "Error", "FileError", "FormatError",
           "InternalError", "Media", "Message", "MismatchError", "OutOfMemoryError", "Piece", "SamplingOptions", "Session",
           "Span", "StateError", "Stream", "Tokenizer", "ToolCall", "UnsupportedError", "Usage", "abi_version", "audio_tokens",
           "cpus", "demo_model", "estimate", "image_tokens", "prepare", "probe_kv"]
