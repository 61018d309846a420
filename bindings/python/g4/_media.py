"""Pictures, sounds and videos in prompts."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import io
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, NamedTuple, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _core
from ._arguments import Ids, id_array, kind, number, whole
from ._errors import ArgumentError
from ._inputs import checked_budget, pixels, samples

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

    from ._tokenizer import Tokenizer

# Types of message parts, OpenAI's names too, and what they hold.
PART_KINDS = {"image": "image", "audio": "audio", "video": "video", "image_url": "image", "input_audio": "audio"}


class Span(NamedTuple):
    """A clip of a sound, or a frame of a video: from and to in seconds; its rows are Media.rows[span.rows]."""

    begin: float
    end: float
    rows: slice


class Media:
    """A picture, sound or video as a session has encoded it: rows that stand in a prompt like the embeddings of tokens.

    Session.encode_image, encode_audio and encode_video make them. They never change, outlive the session, and can be
    used as often as wanted, by any session of the model (a fork); `len` is the number of rows, `kind` is "image",
    "audio" or "video".
    """

    def __init__(self, core: _core.Media, tokenizer: Tokenizer, kind: str, key: bytes = b""):
        self._core = core
        self._tokenizer = tokenizer
        self._key = key  # of the Source it was made of, where it may be asked for again
        self._ids = core.row_ids()
        self.kind = kind

    def __len__(self) -> int:
        return len(self._ids)

    def __repr__(self) -> str:
        return f"<g4.Media {self.kind}, {len(self)} rows>"

    @property
    def rows(self) -> npt.NDArray[np.float32]:
        """float32 [len, D], read-only: the rows as the network takes them."""
        parts = [rows for _, _, rows in self._core.parts()]
        if len(parts) == 1:
            return parts[0]
        rows = np.concatenate(parts)
        rows.flags.writeable = False
        return rows

    @property
    def placeholder_ids(self) -> list[int]:
        """The ids that stand for it in a prompt: begin, one for each row, end; for each frame of a video also its time.

        They may be put among other ids. Those of rows are negative and made of the content, so that the same picture
        counts as the same where prompts are compared. Raises UnsupportedError if the vocabulary knows no media.
        """
        return self._core.ids(self._tokenizer._core)

    @property
    def spans(self) -> list[Span]:
        """The clips of a sound, or the frames of a video, in order; one for a picture."""
        spans, row = [], 0
        for begin, end, rows in self._core.parts():
            spans.append(Span(begin, end, slice(row, row + len(rows))))
            row += len(rows)
        return spans


# One kind of sequence for ids and parts: type checkers then see what the elements of a list are meant to be.
Prompt: TypeAlias = "Union[str, Media, npt.NDArray[np.integer[Any]], Sequence[Union[int, str, Media, Ids]]]"


def prompt_ids(prompt: Prompt, tokenize: Callable[[str, bool], list[int]], name: str = "ids",
               ) -> tuple[npt.NDArray[np.int32], list[Media]]:
    """A prompt as ids, and the media in it. tokenize(text, is it the first part?)"""
    parts: Any = [prompt] if isinstance(prompt, (str, Media)) else prompt
    if not isinstance(parts, (list, tuple)) or not any(isinstance(part, (str, Media)) for part in parts):
        return id_array(parts, name), []
    arrays = []
    for index, part in enumerate(parts):
        if isinstance(part, str):
            part = tokenize(part, index == 0)
        arrays.append(id_array(part._ids if isinstance(part, Media) else part, f"part {index} of {name}"))
    return np.concatenate(arrays), [part for part in parts if isinstance(part, Media)]


@dataclasses.dataclass(frozen=True)
class Source:
    """Something to be encoded."""

    kind: str
    arrays: Sequence[npt.NDArray[Any]]
    options: tuple[int, ...]
    encode: Callable[[_core.Session], _core.Media]

    @property
    def key(self) -> bytes:
        """The same for the same content and options."""
        digest = hashlib.blake2b(repr((self.kind, self.options)).encode(), digest_size=16)
        for array in self.arrays:
            digest.update(repr((array.dtype, array.shape)).encode())
            digest.update(array.data)
        return digest.digest()


def image_source(image: Any, budget: int = 280) -> Source:
    """See Session.encode_image."""
    budget = checked_budget(budget)
    array = pixels(image)
    return Source("image", [array], (budget,), lambda core: core.encode_image(array, budget))


def audio_source(audio: Any, rate: int = 16000, split: bool = False) -> Source:
    """See Session.encode_audio."""
    array, rate = samples(audio, rate)
    return Source("audio", [array], (rate, bool(split)), lambda core: core.encode_audio(array, rate, bool(split)))


def video_source(frames: Iterable[Any], times: Iterable[float], budget: int = 70) -> Source:
    """See Session.encode_video."""
    budget = checked_budget(budget)
    arrays = [pixels(frame) for frame in frames]
    seconds = [number(time, "a time") for time in times]
    if len(arrays) != len(seconds):
        raise ArgumentError(f"a video has a time for each frame; there are {len(arrays)} frames and {len(seconds)} times")
    if not all(0 <= time < 2**32 for time in seconds):
        raise ArgumentError("a time of a video is negative or no number of seconds")
    times_ns = [round(time * 1e9) for time in seconds]
    return Source("video", arrays, (budget, *times_ns), lambda core: core.encode_video(arrays, times_ns, budget))


SOURCES: Mapping[str, tuple[Callable[..., Source], tuple[str, ...]]] = {
    "image": (image_source, ("budget",)),
    "audio": (audio_source, ("rate", "split")),
    "video": (video_source, ("times", "budget")),
}


def part_media(part: Mapping[str, Any], encode: Callable[[Source], Media] | None) -> Media:
    """What a message part shows: a Media as it is, anything else encoded."""
    content = part.get(part["type"])
    if isinstance(content, Mapping):  # OpenAI's forms, which hold files
        content = _file_of(part["type"], content)
    if isinstance(content, Media):
        if content.kind != PART_KINDS[part["type"]]:
            raise ArgumentError(f"a part of type {part['type']!r} holds a g4.Media of kind {content.kind!r}")
        return content
    if content is None or encode is None:
        raise ArgumentError(f"a part of type {part['type']!r} has no {part['type']!r}")
    source, options = SOURCES[PART_KINDS[part["type"]]]
    return encode(source(content, **{name: part[name] for name in options if name in part}))


def _file_of(type: str, content: Mapping[str, Any]) -> io.BytesIO:
    """{"url": "data:image/png;base64,..."} or {"data": base64}"""
    text = content.get("url" if type == "image_url" else "data")
    if type == "image_url" and isinstance(text, str):
        header, _, text = text.partition(",")
        if not (header.startswith("data:") and header.endswith(";base64")):
            raise ArgumentError("an image_url must be a data URL, 'data:image/png;base64,...': g4 fetches nothing from the net")
    if not isinstance(text, str):
        raise ArgumentError(f"a part of type {type!r} must hold a file in base64, not {kind(text)}")
    try:
        return io.BytesIO(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError) as error:
        raise ArgumentError(f"a part of type {type!r} is not in base64: {error}") from None
