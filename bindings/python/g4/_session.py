"""The session: a model, its memory of one conversation, and all that can be done with it."""

from __future__ import annotations

import dataclasses
import os
import warnings
from typing import TYPE_CHECKING, Any, Callable, Iterable, Literal, Mapping, Sequence, overload

import numpy as np
import numpy.typing as npt

from . import _core
from ._arguments import (Ids, LogitsHook, PathLike, Progress, SamplingOptions, callback, choice, id_array, kind,
                         path_bytes, sampling, stop_list, whole)
from ._errors import ArgumentError, CacheWarning, StateError
from ._media import Media, Prompt, Source, audio_source, image_source, prompt_ids, video_source
from ._message import Message, Stream
from ._schema import JsonGuide
from ._tokenizer import Messages, Tokenizer, Tools, conversation

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Unpack

KV_TYPES = {"f16": 1, "f32": 2, "q8_0": 3}
PRECISIONS = {"int8": 0, "f32": 1}
MOST = 2**30


def demo_model() -> str:
    """The path of the demo model that comes with the package: small, for trying things out."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "g4-demo-q8_0.gguf")


def _demo_towers() -> str:
    return os.path.join(os.path.dirname(demo_model()), "mmproj-g4-demo-bf16.gguf")


@dataclasses.dataclass(frozen=True)
class Cache:
    """A cache of prompts on disk, which finds them again by content.

    path: a folder, made if it is missing; any number of sessions and processes may share it. single_file: one KV file
    instead, of the last prompt. limit_bytes: of a folder: the files that were unused for longest go when all take more;
    0: 4 GiB.
    """

    path: PathLike
    single_file: bool = False
    limit_bytes: int = 0


class Session:
    """One conversation with a Gemma 4 model: weights (shared with its forks), KV cache, position.

    path: a GGUF file; None: the demo model.
    context: positions it may hold; 0: the model's maximum, at most 32768. Memory is taken as it fills.
    threads: 0: the physical cores.
    kv_type: what keys and values are kept in: "f16", "f32", or "q8_0", half the memory of f16 (docs/KV.md).
    precision: "int8", activations in 8 bits against quantised weights, or "f32", slower, for comparisons.
    cpu: a name of g4.cpus(); None: the best.
    ple_path: a file that holds the per-layer embeddings; None: the model file.
    mmproj: the file with the towers that see and hear; None: none (the demo model brings its own).
    progress: called with (bytes done, bytes in all) while opening; what it raises ends the opening.

    Raises FileError, FormatError (damaged: names what), UnsupportedError (another architecture or tensor type),
    ArgumentError, OutOfMemoryError.

    A session serves one call at a time; other threads get a StateError meanwhile. For several threads use fork(), or
    several sessions. Computing leaves Python's lock to others. Ctrl-C ends a call and leaves the session usable. Use
    it with `with`, or close() it, to give back the memory at once.
    """

    def __init__(self, path: PathLike | None = None, *, context: int = 0, threads: int = 0, kv_type: str = "f16",
                 precision: str = "int8", cpu: str | None = None, ple_path: PathLike | None = None,
                 mmproj: PathLike | None = None, progress: Progress | None = None):
        if path is None and mmproj is None:
            mmproj = _demo_towers()
        options = _options(context, threads, kv_type, precision, cpu, ple_path, mmproj)
        self._path = os.fsdecode(path_bytes(demo_model() if path is None else path))
        self._core = _core.Session(path_bytes(self._path), options, callback(progress, "progress"))
        self._tokenizer = Tokenizer._of(self._core.tokenizer())
        self._media: list[Media] = []  # what the session holds rows of: evaluating those again takes it

    def fork(self) -> Session:
        """A second session of the same model: an exact copy that goes its own way. Weights and KV pages are shared."""
        session = Session.__new__(Session)
        session._core = self._core.fork()
        session._path = self._path
        session._tokenizer = self._tokenizer
        session._media = list(self._media)
        return session

    def close(self) -> None:
        """Gives back the memory; a running call is cancelled. Afterwards all but close() raises StateError."""
        self._core.close()
        self._media.clear()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        name = os.path.basename(self._path)
        if self._core.is_closed():
            return f"<g4.Session {name!r}, closed>"
        try:
            info, position = self.info, self.position
        except StateError:
            return f"<g4.Session {name!r}, busy>"
        return (f"<g4.Session {name!r}, {info['variant']} {info['quantisation']}, {info['cpu']}, "
                f"{position} of {info['context']} positions>")

    # ---- Text and tokens

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the model; also usable after close()."""
        return self._tokenizer

    def tokenize(self, text: str, special: bool = False, bos: bool = True) -> list[int]:
        """The ids of a text: see Tokenizer.tokenize."""
        return self._tokenizer.tokenize(text, special, bos)

    def detokenize(self, ids: Ids, special: bool = False) -> str:
        """The text of ids [n]: see Tokenizer.detokenize."""
        return self._tokenizer.detokenize(ids, special)

    # ---- Pictures, sounds, videos

    def encode_image(self, image: Any, budget: int = 280) -> Media:
        """A picture as rows to stand in a prompt.

        image: a PIL image of any mode (turned as its EXIF data says), a uint8 array [height, width, 3 or 4] (RGB, RGBA),
        or a file that Pillow reads: a path, or open for reading. Alpha is ignored.
        budget: the most rows it may take: 70, 140, 280, 560 or 1120. More show finer detail.

        Raises ArgumentError, FileError, FormatError (a damaged file), UnsupportedError (no mmproj, or the model does not
        see), ImportError (Pillow is missing), StateError, CancelledError.
        """
        return self._encode(image_source(image, budget))

    def encode_audio(self, samples: Any, rate: int = 16000, split: bool = False) -> Media:
        """A sound as rows to stand in a prompt, 25 a second.

        samples: a float array (-1 to 1) or an int16 array, [n] or [n, channels], of which the mean is heard; or a file that
        soundfile reads: a path, or open for reading.
        rate: samples a second of an array, 1000 to 384000; a file knows its own.
        split: cut more than 30 s into clips of about equal length (Media.spans tells which), instead of ArgumentError.

        Raises as encode_image; ImportError if soundfile is missing.
        """
        return self._encode(audio_source(samples, rate, split))

    def encode_video(self, frames: Iterable[Any], times: Iterable[float], budget: int = 70) -> Media:
        """Frames of a video and the seconds they are of, which the prompt will tell as mm:ss.

        frames: each as for encode_image. budget: of a frame. Raises as encode_image.
        """
        return self._encode(video_source(frames, times, budget))

    def _encode(self, source: Source, key: bytes = b"") -> Media:
        return Media(source.encode(self._core), self._tokenizer, source.kind, key)

    def _encode_once(self, source: Source) -> Media:
        """As before, if the session holds it."""
        key = source.key
        return next((media for media in self._media if media._key == key), None) or self._encode(source, key)

    def _keep(self, media: Sequence[Media]) -> None:
        """Remembers these too, and forgets what the session holds no rows of."""
        if media:
            held = set(self.tokens)
            self._media = [each for each in dict.fromkeys([*self._media, *media]) if each._ids[0] in held]

    # ---- Evaluating

    def _ids(self, prompt: Prompt, at_begin: bool) -> tuple[npt.NDArray[np.int32], list[Media]]:
        return prompt_ids(prompt, lambda text, first: self.tokenize(text, bos=first and at_begin))

    @overload
    def prefill(self, ids: Prompt, logits: Literal["last", "all"] = "last",
                progress: Progress | None = None) -> npt.NDArray[np.float32]: ...

    @overload
    def prefill(self, ids: Prompt, logits: Literal["none"], progress: Progress | None = None) -> None: ...

    def prefill(self, ids: Prompt, logits: Literal["last", "all", "none"] = "last",
                progress: Progress | None = None) -> npt.NDArray[np.float32] | None:
        """Evaluates ids [n] after what the session holds. All or nothing: on error the position is unchanged.

        ids: a list or array of ids; or a list of parts in order, each ids, a g4.Media (its rows alone, without the ids
        that stand around it, see Media.placeholder_ids) or a str; or one of these. A str that comes first has <bos> put in
        front at position 0.
        logits: "last" returns float32 [V], those after the last id; "all" float32 [n, V], after each id (nothing is
        pruned: slower); "none" returns None.
        progress: called with (ids done, ids in all); what it raises ends the call.

        Raises ArgumentError (an id outside the vocabulary), ContextFullError, FileError, StateError, CancelledError.
        """
        if logits not in ("last", "all", "none"):
            raise ArgumentError(f"logits is {logits!r}; allowed is 'last', 'all', 'none'")
        array, media = self._ids(ids, self.position == 0)
        every = None
        if logits == "all":
            every = self._core.prefill_all(array, callback(progress, "progress"))
        else:
            self._core.prefill(array, callback(progress, "progress"))
        self._keep(media)
        return self.logits if logits == "last" else every

    def extend(self, ids: Prompt, progress: Progress | None = None, *, cache: Cache | PathLike | None = None) -> int:
        """Makes the session hold exactly ids [n], a whole conversation; evaluates only what is new of it.

        ids: as for prefill, beginning at position 0.
        cache: a folder that keeps prompts (or a g4.Cache): begins with the file there that gives the longest exact prefix,
        if that is more than the session holds, and keeps the new state there. A cache that cannot be used makes the call
        slower but never fail: it gives a g4.CacheWarning.

        Returns how many positions were kept. All or nothing. Raises as prefill.
        """
        return self._extend(*self._ids(ids, True), progress, cache)

    def _extend(self, ids: npt.NDArray[np.int32], media: Sequence[Media], progress: Progress | None,
                cache: Cache | PathLike | None) -> int:
        if cache is None:
            reused = self._core.extend(ids, callback(progress, "progress"))
        else:
            where = cache if isinstance(cache, Cache) else Cache(cache)
            reused, problem, message = self._core.extend_cached(
                ids, path_bytes(where.path, "cache"), bool(where.single_file),
                whole(where.limit_bytes, "limit_bytes", 0, 2**64 - 1), callback(progress, "progress"))
            if problem:
                warnings.warn(message, CacheWarning, stacklevel=3)
        self._keep(media)
        return reused

    @property
    def logits(self) -> npt.NDArray[np.float32]:
        """float32 [V], read-only: the logits after the last position. It stays as it is when the session goes on.

        Raises StateError if nothing was evaluated yet, or the last position was removed.
        """
        return self._core.logits()

    def sample(self, **options: Unpack[SamplingOptions]) -> int:
        """Picks the next token from the logits; changes nothing. Options: g4.SamplingOptions."""
        return self._core.sample(sampling(options))

    def decode(self, **options: Unpack[SamplingOptions]) -> int:
        """One step: picks the next token, evaluates it, returns it. It may be a stop token (Tokenizer.is_stop).

        Options: g4.SamplingOptions. Raises StateError (no logits), ArgumentError (an option), ContextFullError.
        """
        return self._core.decode(sampling(options))

    # ---- Answers

    @overload
    def generate(self, prompt: Prompt | None = None, max_tokens: int | None = 256, stop: str | Sequence[str] = (),
                 stream: Literal[False] = False, *, ignore_stop: bool = False, logits_hook: LogitsHook | None = None,
                 progress: Progress | None = None, **options: Unpack[SamplingOptions]) -> str: ...

    @overload
    def generate(self, prompt: Prompt | None, max_tokens: int | None, stop: str | Sequence[str],
                 stream: Literal[True], *, ignore_stop: bool = False, logits_hook: LogitsHook | None = None,
                 progress: Progress | None = None, **options: Unpack[SamplingOptions]) -> Stream: ...

    @overload
    def generate(self, prompt: Prompt | None = None, max_tokens: int | None = 256, stop: str | Sequence[str] = (),
                 *, stream: Literal[True], ignore_stop: bool = False, logits_hook: LogitsHook | None = None,
                 progress: Progress | None = None, **options: Unpack[SamplingOptions]) -> Stream: ...

    def generate(self, prompt: Prompt | None = None, max_tokens: int | None = 256, stop: str | Sequence[str] = (),
                 stream: bool = False, *, ignore_stop: bool = False, logits_hook: LogitsHook | None = None,
                 progress: Progress | None = None, **options: Unpack[SamplingOptions]) -> str | Stream:
        """Goes on with a text as it stands, without the form of a chat.

        prompt: a str, ids [n] or parts, as for prefill; None: go on from the logits.
        max_tokens: None: as many as the context holds.
        stop: strings that end the text and are not part of it. ignore_stop: go on after stop tokens.
        stream: return an iterator of pieces (g4.Stream) instead of the whole text.
        logits_hook: called before each token with (ids generated so far, float32 [V]); it changes the array in place
        and returns None. What it raises ends the call.
        options: g4.SamplingOptions; temperature=0 always takes the best token.

        Raises as prefill and decode.
        """
        make = self._stream_maker(max_tokens, stop, ignore_stop, logits_hook, options)
        before = self.position
        if prompt is not None:
            self.prefill(prompt, "none", progress)
        answer = make(self.position - before, 0, ("text",))
        return answer if stream else answer.finish().text

    @overload
    def chat(self, messages: Messages, tools: Tools | None = None, thinking: bool = False,
             response_format: Mapping[str, Any] | None = None, stream: Literal[False] = False, *,
             max_tokens: int | None = None, stop: str | Sequence[str] = (), logits_hook: LogitsHook | None = None,
             progress: Progress | None = None, cache: Cache | PathLike | None = None,
             **options: Unpack[SamplingOptions]) -> Message: ...

    @overload
    def chat(self, messages: Messages, tools: Tools | None, thinking: bool, response_format: Mapping[str, Any] | None,
             stream: Literal[True], *, max_tokens: int | None = None, stop: str | Sequence[str] = (),
             logits_hook: LogitsHook | None = None, progress: Progress | None = None,
             cache: Cache | PathLike | None = None, **options: Unpack[SamplingOptions]) -> Stream: ...

    @overload
    def chat(self, messages: Messages, tools: Tools | None = None, thinking: bool = False,
             response_format: Mapping[str, Any] | None = None, *, stream: Literal[True], max_tokens: int | None = None,
             stop: str | Sequence[str] = (), logits_hook: LogitsHook | None = None, progress: Progress | None = None,
             cache: Cache | PathLike | None = None, **options: Unpack[SamplingOptions]) -> Stream: ...

    def chat(self, messages: Messages, tools: Tools | None = None, thinking: bool = False,
             response_format: Mapping[str, Any] | None = None, stream: bool = False, *, max_tokens: int | None = None,
             stop: str | Sequence[str] = (), logits_hook: LogitsHook | None = None, progress: Progress | None = None,
             cache: Cache | PathLike | None = None, **options: Unpack[SamplingOptions]) -> Message | Stream:
        """The answer to a conversation. Called again with a longer one, it evaluates only what is new.

        messages: a list of dictionaries as in OpenAI's chat API and of earlier answers; a str: one message of the user.
        Parts of a message show pictures and sounds: {"type": "image", "image": ...}, {"type": "audio", "audio": ...},
        {"type": "video", "video": frames, "times": ...}: a g4.Media, or what encode_image, encode_audio and encode_video
        take, with their options beside it. What the conversation holds already is not encoded again.
        tools: function declarations with JSON schemas; the calls come in Message.tool_calls.
        thinking: ask the model to think first; its thoughts come in Message.thought.
        response_format: {"type": "json_object"}, {"type": "json_schema", "json_schema": {"schema": ...}}, or the schema:
        the text is JSON that it allows (but cut by max_tokens). Needs the package llguidance: pip install 'g4[json]'.
        stream: return an iterator of pieces, g4.Stream, whose `message` is the answer, instead of the whole g4.Message.
        max_tokens, stop, logits_hook, options: as in generate; max_tokens=None: as many as the context holds.
        cache: as in extend.

        The session then holds the conversation with the answer. Raises as prefill, and ArgumentError for messages that
        are not right (says which).
        """
        text, media = conversation(messages, tools, self._encode_once)
        ids = self._tokenizer._tokenize_chat(text, media, thinking, True)
        guide = None if response_format is None else JsonGuide(self._tokenizer, response_format, thinking)
        make = self._stream_maker(max_tokens, stop, False, _one_after_the_other(logits_hook, guide), options)
        reused = self._extend(id_array(ids), media, progress, cache)
        answer = make(len(ids) - reused, reused, ("text", "thought"))
        return answer if stream else answer.finish()

    def _stream_maker(self, max_tokens: int | None, stop: str | Sequence[str], ignore_stop: bool,
                      logits_hook: LogitsHook | None,
                      options: SamplingOptions) -> Callable[[int, int, tuple[str, ...]], Stream]:
        """Checks what a stream needs before anything is evaluated; returns the function that makes it afterwards."""
        most = 0 if max_tokens is None else whole(max_tokens, "max_tokens", 1, 2**62)
        stops, chosen = stop_list(stop), sampling(options)
        callback(logits_hook, "logits_hook")

        def begin(tokens: list[int]) -> _core.Generation:
            hook = None if logits_hook is None else lambda logits: logits_hook(list(tokens), logits)
            return _core.Generation(self._core, chosen, most, stops, bool(ignore_stop), hook)

        def make(prompt_tokens: int, reused_tokens: int, channels: tuple[str, ...]) -> Stream:
            return Stream(begin, self._tokenizer, prompt_tokens, reused_tokens, channels)

        return make

    def cancel(self) -> None:
        """Ends the call that runs in another thread: it raises CancelledError, or its answer ends. Else does nothing."""
        self._core.cancel()

    # ---- Position

    @property
    def position(self) -> int:
        """The number of tokens that the session holds."""
        return self._core.position()

    @property
    def tokens(self) -> list[int]:
        """The ids that the session holds, in order."""
        return self._core.tokens()

    @property
    def rewind_min(self) -> int:
        """truncate() is exact at every position from this one on, and at the ends of the last few prompts."""
        return self._core.rewind_min()

    def truncate(self, position: int, reevaluate: bool = False) -> None:
        """Forgets all from `position` on; going on from there gives exactly what it would have given the first time.

        The logits are gone, unless nothing was removed. reevaluate: where it cannot be exact, evaluate the tokens that
        stay again, instead of raising StateError. Raises ArgumentError beyond the end.
        """
        self._core.truncate(whole(position, "position", 0, 2**62), bool(reevaluate))

    def reset(self) -> None:
        """Back to position 0; the weights stay loaded."""
        self._core.truncate(0, False)

    # ---- Never the same prompt twice

    def save_kv(self, path: PathLike) -> int:
        """Writes tokens, keys, values and logits to a file; returns its bytes. If it fails, an old file stays whole."""
        return self._core.save_kv(path_bytes(path))

    def load_kv(self, path: PathLike, ids: Prompt | None = None) -> int:
        """Goes to the state of a file of save_kv, to the same bits; returns how many positions were restored.

        ids: a prompt, as for prefill: only the longest common prefix with it that can be restored exactly; evaluate the rest.
        Raises FileError, FormatError (damaged), MismatchError (of another model or KV type), ContextFullError; the
        session is then as before.
        """
        array, media = (None, []) if ids is None else self._ids(ids, True)
        if array is not None and array.size == 0:
            raise ArgumentError("ids is empty; leave it out to restore the whole file")
        restored = self._core.load_kv(path_bytes(path), array)
        self._keep(media)
        return restored

    # ---- Information

    @property
    def info(self) -> dict[str, Any]:
        """What the session runs: architecture, name, variant, quantisation, layers, kv_sources (whose keys and values
        each layer reads), vocabulary, context, cpu, threads, can_see, can_hear, sizes in bytes, ..."""
        info = self._core.info()
        info["kv_type"] = _name_of(KV_TYPES, info["kv_type"])
        info["precision"] = _name_of(PRECISIONS, info["precision"])
        info["kv_layers"] = self._core.kv_layers()
        info["kv_sources"] = [layer["source"] for layer in info["kv_layers"]]
        return info

    @property
    def stats(self) -> dict[str, Any]:
        """Counters since opening or forking: tokens evaluated and reused, seconds of prefill and decode, rows that each
        layer has run, memory of the KV cache and of scratch, reads of the per-layer embeddings."""
        return self._core.stats()


def estimate(path: PathLike | None = None, *, context: int = 0, threads: int = 0, kv_type: str = "f16",
             precision: str = "int8", cpu: str | None = None, ple_path: PathLike | None = None,
             mmproj: PathLike | None = None) -> dict[str, int]:
    """The bytes that a session with these options will need, from the file's header alone.

    Keys: weights, kv (with a full context), scratch, total (what must fit in memory), ple_disk (stays on disk).
    Raises as Session.
    """
    options = _options(context, threads, kv_type, precision, cpu, ple_path, mmproj)
    return _core.estimate(path_bytes(demo_model() if path is None else path), options)


def prepare(path: PathLike, out_path: PathLike, *, threads: int = 0, cpu: str | None = None,
            ple_path: PathLike | None = None, progress: Progress | None = None) -> None:
    """Writes a model as a prepared file, which opens at once on this machine (docs/MODELS.md).

    progress: called with (bytes done, bytes in all); what it raises ends the call. Raises as Session, and ArgumentError
    where out_path is the model itself. Until all is written, an old file at out_path stays as it is.
    """
    options = _options(0, threads, "f16", "int8", cpu, ple_path)
    _core.prepare(path_bytes(path), path_bytes(out_path), options, callback(progress, "progress"))


def probe_kv(path: PathLike) -> dict[str, Any]:
    """A KV file's header: positions, tokens, kv_type, has_logits, fingerprint (of the model), file_bytes.

    Raises FileError, FormatError, UnsupportedError.
    """
    return _core.probe_kv(path_bytes(path))


def _options(context: int, threads: int, kv_type: str, precision: str, cpu: str | None,
             ple_path: PathLike | None, mmproj: PathLike | None = None) -> _core.SessionOptions:
    if cpu is not None and not isinstance(cpu, str):
        raise TypeError(f"cpu must be a name of g4.cpus() or None, not {kind(cpu)}")
    return _core.SessionOptions(
        context=whole(context, "context", 0, MOST), threads=whole(threads, "threads", 0, MOST),
        kv_type=choice(kv_type, "kv_type", KV_TYPES), precision=choice(precision, "precision", PRECISIONS),
        cpu=b"" if cpu is None else path_bytes(cpu, "cpu"),
        ple_path=b"" if ple_path is None else path_bytes(ple_path, "ple_path"),
        mmproj=b"" if mmproj is None else path_bytes(mmproj, "mmproj"))


def _name_of(names: Mapping[str, int], number: int) -> str:
    return next(name for name, value in names.items() if value == number)


def _one_after_the_other(first: LogitsHook | None, then: LogitsHook | None) -> LogitsHook | None:
    if first is None or then is None:
        return first or then
    callback(first, "logits_hook")

    def both(tokens: list[int], logits: npt.NDArray[np.float32]) -> None:
        if first(tokens, logits) is not None:
            raise TypeError("logits_hook must change the array in place and return None")
        then(tokens, logits)

    return both
