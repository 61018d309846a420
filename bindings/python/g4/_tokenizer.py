"""Text to ids and back, conversations to prompts."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence, Union

from . import _core
from ._arguments import Ids, PathLike, id_array, kind, path_bytes, text_bytes, whole
from ._errors import ArgumentError
from ._media import PART_KINDS, Media, Source, part_media
from ._message import Message

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

Messages: TypeAlias = "Union[str, Sequence[Union[Mapping[str, Any], Message]]]"
Tools: TypeAlias = "Sequence[Mapping[str, Any]]"


class Tokenizer:
    """The vocabulary and the chat format of a GGUF file, which may hold no tensors.

    path: the file. Raises FileError, FormatError, UnsupportedError. Any number of threads may use one tokenizer.
    """

    _llguidance: Any = None  # its form of this tokenizer, made when first needed

    def __init__(self, path: PathLike):
        self._core = _core.Tokenizer(path_bytes(path))

    @classmethod
    def _of(cls, core: _core.Tokenizer) -> Tokenizer:
        tokenizer = cls.__new__(cls)
        tokenizer._core = core
        return tokenizer

    def __len__(self) -> int:
        """The number of tokens in the vocabulary, V."""
        return self._core.vocabulary()

    def __repr__(self) -> str:
        return f"<g4.Tokenizer {len(self)} tokens>"

    def tokenize(self, text: str, special: bool = False, bos: bool = True) -> list[int]:
        """The ids of a text.

        special: control tokens written in the text, like <|turn>, count as such; else they are plain text.
        bos: put <bos> in front.
        """
        return self._core.tokenize(text_bytes(text, "text"), bool(special), bool(bos))

    def detokenize(self, ids: Ids, special: bool = False) -> str:
        """The text of ids [n]. special: write control tokens out as <...> instead of leaving them out.

        Bytes that make no character, as in half a character's tokens, become U+FFFD. Raises ArgumentError for an id
        outside the vocabulary.
        """
        return self._core.detokenize(id_array(ids), bool(special)).decode(errors="replace")

    def render(self, messages: Messages, tools: Tools | None = None, thinking: bool = False,
               add_generation_prompt: bool = True) -> str:
        """The exact text of the official template for a conversation, to look at. `tokenize_chat` gives the ids."""
        text, media = conversation(messages, tools, None)
        return self._core.render(text, bool(thinking), bool(add_generation_prompt), [each._core for each in media])

    def tokenize_chat(self, messages: Messages, tools: Tools | None = None, thinking: bool = False,
                      add_generation_prompt: bool = True) -> list[int]:
        """The ids of a conversation, <bos> included. What the messages contain never counts as control tokens.

        messages: a list of dictionaries as in OpenAI's chat API (docs/CHAT.md) and of g4.Message; or a str, for one
        message of the user. Media parts that hold a g4.Media stand for its rows; else, all of them must be mere
        placeholders. Raises ArgumentError, which says what message and field is wrong.
        """
        return self._tokenize_chat(*conversation(messages, tools, None), thinking, add_generation_prompt)

    def _tokenize_chat(self, text: bytes, media: list[Media], thinking: bool, add_generation_prompt: bool) -> list[int]:
        return self._core.tokenize_chat(text, bool(thinking), bool(add_generation_prompt), [each._core for each in media])

    def is_stop(self, id: int) -> bool:
        """Does this token end an answer?"""
        return self._core.is_stop(whole(id, "id", -2**31, 2**31 - 1))

    @functools.cached_property
    def _pieces(self) -> list[tuple[bytes, bool]]:
        """(bytes, is it a control token?) of each token."""
        return self._core.pieces()


def conversation(messages: Messages, tools: Tools | None,
                 encode: Callable[[Source], Media] | None) -> tuple[bytes, list[Media]]:
    """The JSON that the C interface takes, and what its media parts show, in order.

    encode: for what is no g4.Media yet. None: then media parts show a g4.Media each, or none does.
    """
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if isinstance(messages, (Mapping, Message)) or not isinstance(messages, Sequence):
        raise TypeError(f"messages must be a list of messages, or a str, not {kind(messages)}")
    if tools is not None and (isinstance(tools, (str, Mapping)) or not isinstance(tools, Sequence)):
        raise TypeError(f"tools must be a list of function declarations, not {kind(tools)}")
    media: list[Media] = []
    plain = [_without_media(message, encode, media) for message in messages]
    whole_conversation = {"messages": plain, **({"tools": tools} if tools else {})}
    try:
        return json.dumps(whole_conversation, default=_to_json, allow_nan=False).encode(), media
    except ValueError as error:
        raise ArgumentError(f"messages or tools cannot be written as JSON: {error}") from None
    except RecursionError:
        raise ArgumentError("messages or tools are nested too deeply") from None


def _without_media(message: Any, encode: Callable[[Source], Media] | None, media: list[Media]) -> Any:
    """The message with its media parts emptied; what they show is put in `media`."""
    parts = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(parts, (list, tuple)) or not any(map(_is_media_part, parts)):
        return message
    plain = []
    for part in parts:
        if _is_media_part(part):
            if encode or isinstance(part.get(part["type"]), Media):
                media.append(part_media(part, encode))
            part = {"type": PART_KINDS[part["type"]]}
        plain.append(part)
    return {**message, "content": plain}


def _is_media_part(part: Any) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("type"), str) and part["type"] in PART_KINDS


def _to_json(value: object) -> Any:
    if isinstance(value, Message):
        return value.to_dict()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"messages and tools hold dictionaries, lists, str, numbers and g4.Message, not {kind(value)}")
