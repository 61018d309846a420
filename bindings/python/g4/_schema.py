"""Answers in JSON: a logits hook that leaves only the tokens a schema allows. Needs the package llguidance."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Mapping

import numpy as np
import numpy.typing as npt

from ._arguments import kind
from ._errors import ArgumentError, InternalError
from ._tokenizer import Tokenizer

if TYPE_CHECKING:
    import llguidance


class _Vocabulary:
    """What llguidance wants to know of a tokenizer."""

    def __init__(self, tokenizer: Tokenizer):
        self._tokenizer = tokenizer
        self.tokens = [piece for piece, _ in tokenizer._pieces]
        self.special_token_ids = [id for id, (_, control) in enumerate(tokenizer._pieces) if control]
        self.eos_token_id = _control(tokenizer, "<turn|>")
        self.bos_token_id = _control(tokenizer, "<bos>")

    def __call__(self, text: str) -> list[int]:
        return self._tokenizer.tokenize(text, bos=False)


class JsonGuide:
    """A logits hook. The model may think first, if `thinking`; its text is JSON that the schema allows.

    response_format: as in OpenAI's API, {"type": "json_object"} or {"type": "json_schema", "json_schema": {"schema": ...}},
    or the schema itself.
    """

    def __init__(self, tokenizer: Tokenizer, response_format: Mapping[str, Any], thinking: bool):
        matcher_class, shared = _llguidance(tokenizer)
        # Spaces and indented lines as the model likes, but no endless blanks.
        layout: Any = {"whitespace_pattern": r"( |\n {0,40})?"}
        grammar = matcher_class.grammar_from_json_schema(json.dumps(_schema(response_format)), overrides=layout)
        self._matcher = matcher_class(shared, grammar, log_level=0)
        self._raise_errors()
        self._thought_begin = _control(tokenizer, "<|channel>") if thinking else None
        self._thought_end = _control(tokenizer, "<channel|>")
        self._thinks = False
        self._seen = 0

    def __call__(self, tokens: list[int], logits: npt.NDArray[np.float32]) -> None:
        for token in tokens[self._seen:]:
            self._take(token)
        self._seen = len(tokens)
        if not self._thinks:
            mask = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
            self._raise_errors()
            allowed = np.unpackbits(mask, bitorder="little")[:len(logits)].astype(bool)
            if self._thought_begin is not None and not tokens:
                allowed[self._thought_begin] = True
            logits[~allowed] = -np.inf

    def _take(self, token: int) -> None:
        if self._thinks:
            self._thinks = token != self._thought_end
        elif token == self._thought_begin:
            self._thinks = True
        else:
            self._matcher.consume_token(token)
            self._raise_errors()

    def _raise_errors(self) -> None:
        if self._matcher.is_error():
            raise ArgumentError(f"response_format: {self._matcher.get_error()}")


def _schema(response_format: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(response_format, Mapping):
        raise TypeError(f"response_format must be a dictionary, not {kind(response_format)}")
    if response_format.get("type") == "json_object":
        return {"type": "object"}
    if response_format.get("type") == "json_schema":
        try:
            response_format = response_format["json_schema"]["schema"]
        except (KeyError, TypeError):
            raise ArgumentError('response_format of type "json_schema" has no ["json_schema"]["schema"]') from None
    return response_format


def _control(tokenizer: Tokenizer, text: str) -> int:
    ids = tokenizer.tokenize(text, special=True, bos=False)
    if len(ids) != 1:
        raise InternalError(f"the vocabulary has no token {text}")
    return ids[0]


def _llguidance(tokenizer: Tokenizer) -> tuple[type[llguidance.LLMatcher], llguidance.LLTokenizer]:
    """The matcher class and the tokenizer in llguidance's form, made once."""
    try:
        import llguidance
    except ImportError:
        raise ImportError("response_format needs the package llguidance: pip install 'g4[json]'") from None
    if tokenizer._llguidance is None:
        vocabulary = llguidance.TokenizerWrapper(_Vocabulary(tokenizer))
        tokenizer._llguidance = llguidance.LLTokenizer(vocabulary, n_vocab=len(tokenizer))
    return llguidance.LLMatcher, tokenizer._llguidance
