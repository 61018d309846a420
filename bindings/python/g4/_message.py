"""What comes back from the model: whole messages and streams of pieces."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Callable, Iterator

from . import _core
from ._arguments import id_array

if TYPE_CHECKING:
    from ._tokenizer import Tokenizer

CHANNELS = ("text", "thought", "tool_call")
# By g4_finish_reason; None: not finished.
FINISH_REASONS = (None, "stop", "stop", "tool_calls", "stop", "length", None, "cancelled")


@dataclasses.dataclass(frozen=True)
class ToolCall:
    """A function that the model wants to be called. `arguments` is a dictionary, or text that could not be read as one."""

    name: str
    arguments: dict[str, Any] | str
    id: str


@dataclasses.dataclass(frozen=True)
class Usage:
    """What an answer took. `prompt_tokens` were evaluated, `reused_tokens` of the conversation were there already."""

    prompt_tokens: int
    reused_tokens: int
    generated_tokens: int


@dataclasses.dataclass(frozen=True)
class Message:
    """An answer. It can stand in the `messages` of the next `Session.chat` as it is; `str` gives its text.

    `finish_reason`: "stop", "tool_calls" (the model waits for the answers of tools), "length" (max_tokens, or the
    context is full), "cancelled", or None while the answer is not complete.
    """

    text: str
    thought: str
    tool_calls: list[ToolCall]
    finish_reason: str | None
    usage: Usage

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """The message as OpenAI's chat API has it, for JSON."""
        out: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.thought:
            out["reasoning_content"] = self.thought
        if self.tool_calls:
            out["tool_calls"] = [
                {"type": "function", "id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
                for call in self.tool_calls]
        return out


class Piece(str):
    """A part of a streamed answer: text, with the channel it belongs to, "text" or "thought"."""

    __slots__ = ("channel",)
    channel: str

    def __new__(cls, text: str, channel: str) -> Piece:
        piece = super().__new__(cls, text)
        piece.channel = channel
        return piece


class Stream(Iterator[Piece]):
    """An answer while it is made: iterating evaluates one token after the other and gives pieces of text.

    Leave the loop at any time: the session then holds exactly the tokens seen so far. `message` is the answer so far,
    complete after the last piece.
    """

    def __init__(self, begin: Callable[[list[int]], _core.Generation], tokenizer: Tokenizer, prompt_tokens: int,
                 reused_tokens: int, channels: tuple[str, ...]):
        self._tokens: list[int] = []
        self._generation = begin(self._tokens)
        self._tokenizer = tokenizer
        self._prompt_tokens = prompt_tokens
        self._reused_tokens = reused_tokens
        self._channels = channels
        self._text: list[str] = []
        self._finish_reason: str | None = None

    def __next__(self) -> Piece:
        while self._finish_reason is None:
            event = self._generation.next()
            if event is None:
                self._finish_reason = FINISH_REASONS[self._generation.finish_reason()]
                break
            token, channel_number, text = event
            channel = CHANNELS[channel_number]
            self._tokens.append(token)
            if channel == "text":
                self._text.append(text)
            if text and channel in self._channels:
                return Piece(text, channel)
        raise StopIteration

    def __repr__(self) -> str:
        return f"<g4.Stream {len(self._tokens)} tokens, {self._finish_reason or 'not finished'}: {''.join(self._text)!r}>"

    @property
    def tokens(self) -> list[int]:
        """The ids generated so far."""
        return list(self._tokens)

    @property
    def message(self) -> Message:
        """The answer so far."""
        parsed = json.loads(self._tokenizer._core.parse(id_array(self._tokens)))
        calls = [ToolCall(call["function"]["name"], call["function"]["arguments"], call["id"])
                 for call in parsed.get("tool_calls", [])]
        usage = Usage(self._prompt_tokens, self._reused_tokens, len(self._tokens))
        return Message("".join(self._text), parsed.get("reasoning_content", ""), calls, self._finish_reason, usage)

    def finish(self) -> Message:
        """Generates the rest; the whole answer."""
        for _ in self:
            pass
        return self.message

