"""Arguments as the extension module wants them, or an exception that says what would be right."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence, TypedDict, Union

import numpy as np
import numpy.typing as npt

from . import _core
from ._errors import ArgumentError

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

PathLike: TypeAlias = "Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]"
Ids: TypeAlias = "Union[Sequence[int], npt.NDArray[np.integer[Any]]]"
LogitsHook: TypeAlias = "Callable[[list[int], npt.NDArray[np.float32]], None]"
Progress: TypeAlias = "Callable[[int, int], None]"


class SamplingOptions(TypedDict, total=False):
    """How the next token is picked; in this order: penalties, bias, temperature, top-k, top-p, min-p, draw."""

    temperature: float  # 1.0; 0: always the best token
    top_k: int  # 64; 0: all
    top_p: float  # 0.95; 1: all
    min_p: float  # 0: off; else tokens below min_p times the best probability are left out
    repetition_penalty: float  # 1: off; over all tokens of the session
    presence_penalty: float  # 0: off; over the tokens generated since the last prefill
    frequency_penalty: float  # 0: off; the same, for each occurrence
    seed: int | None  # None: another each time; the same seed and history give the same token
    logit_bias: Mapping[int, float]  # added to the logits; -inf forbids a token


def path_bytes(path: PathLike, name: str = "path") -> bytes:
    """The path for the C interface."""
    try:
        encoded = os.fsencode(path)
    except TypeError:
        raise TypeError(f"{name} must be a path (str, bytes or os.PathLike), not {kind(path)}") from None
    if b"\0" in encoded:
        raise ArgumentError(f"{name} has a zero byte in it: {encoded!r}")
    return encoded


def text_bytes(text: str, name: str) -> bytes:
    """Text as UTF-8."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a str, not {kind(text)}")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(f"{name} has half a character (a lone surrogate) at index {error.start}") from None


def id_array(ids: Ids, name: str = "ids") -> npt.NDArray[np.int32]:
    """Token ids as the extension module takes them: int32 [n]."""
    if isinstance(ids, (str, bytes)):
        raise TypeError(f"{name} must be token ids, not {kind(ids)}: tokenize(text) makes ids of text")
    try:
        array = np.asarray(ids)
    except ValueError:
        raise TypeError(f"{name} must be a flat sequence of ints; this one holds sequences of different length") from None
    if array.ndim != 1:
        raise TypeError(f"{name} must be a flat sequence of ints, not of shape {array.shape}")
    if array.size == 0:
        return np.empty(0, np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold ints, not {array.dtype}")
    limits = np.iinfo(np.int32)
    if array.min() < limits.min or array.max() > limits.max:
        raise ArgumentError(f"{name} holds {array.min()} to {array.max()}, which are no token ids")
    return np.ascontiguousarray(array, np.int32)


def whole(value: int, name: str, low: int, high: int) -> int:
    """An int within bounds."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an int, not {kind(value)}")
    if not low <= value <= high:
        raise ArgumentError(f"{name} is {value}; allowed is {low} to {high}")
    return int(value)


def number(value: float, name: str) -> float:
    """A number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be a number, not {kind(value)}")
    return float(value)


def choice(value: str, name: str, choices: Mapping[str, int]) -> int:
    """One of several words."""
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(f"{name} is {value!r}; allowed is {', '.join(map(repr, choices))}")
    return choices[value]


def callback(function: Any, name: str) -> Any:
    """A callable or None."""
    if function is not None and not callable(function):
        raise TypeError(f"{name} must be a function or None, not {kind(function)}")
    return function


def stop_list(stop: str | Sequence[str]) -> list[bytes]:
    """Stop strings."""
    stops = [text_bytes(each, "stop") for each in ([stop] if isinstance(stop, str) else stop)]
    for each in stops:
        if not each or b"\0" in each:
            raise ArgumentError(f"stop holds {each.decode()!r}; a stop string has at least one character and no zero byte")
    return stops


def sampling(options: SamplingOptions) -> _core.Sampling:
    """The extension module's options of these."""
    unknown = options.keys() - SamplingOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"unknown option {sorted(unknown)[0]!r}; sampling has {', '.join(SamplingOptions.__annotations__)}")
    temperature = number(options.get("temperature", 1.0), "temperature")
    top_k = whole(options.get("top_k", 64), "top_k", -1, 2**31 - 1)
    seed = options.get("seed")
    given = {name: number(options.get(name, default), name)  # type: ignore[arg-type]
             for name, default in (("top_p", 0.95), ("min_p", 0.0), ("repetition_penalty", 1.0),
                                   ("presence_penalty", 0.0), ("frequency_penalty", 0.0))}
    for name in ("top_p", "repetition_penalty"):
        if given[name] == 0:  # would mean the default below
            raise ArgumentError(f"{name} is 0; it must be more (1 switches it off)")
    bias = options.get("logit_bias") or {}
    if not isinstance(bias, Mapping):
        raise TypeError(f"logit_bias must map token ids to numbers, not be {kind(bias)}")
    return _core.Sampling(
        greedy=temperature == 0, temperature=temperature, top_k=top_k or -1,
        seed=secrets.randbits(64) if seed is None else whole(seed, "seed", 0, 2**64 - 1),
        biases=[(whole(token, "a token of logit_bias", 0, 2**31 - 1), number(value, "a value of logit_bias"))
                for token, value in bias.items()],
        **given)


def kind(value: object) -> str:
    """A value's type, for messages."""
    return type(value).__name__
