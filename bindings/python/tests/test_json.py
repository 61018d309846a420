"""response_format: the text is JSON that a schema allows."""

import json
import sys

import pytest

import g4

PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
          "required": ["name", "age"], "additionalProperties": False}
TOM = "Name and age as JSON: Tom is 12."


@pytest.fixture(autouse=True)
def llguidance():
    return pytest.importorskip("llguidance")


@pytest.mark.parametrize("response_format", [
    PERSON, {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON}}])
def test_the_model_answers_in_the_schema(session, response_format):
    answer = session.chat(TOM, response_format=response_format, temperature=0)
    assert json.loads(answer.text) == {"name": "Tom", "age": 12}
    assert answer.finish_reason == "stop"


def test_the_schema_decides_not_the_model(session):
    colour = {"type": "object", "properties": {"colour": {"enum": ["red", "green"]}}, "required": ["colour"],
              "additionalProperties": False}
    for seed in range(5):
        answer = session.chat("What is the capital of Kenya?", response_format=colour, temperature=3.0, top_k=0, top_p=1,
                              seed=seed)
        assert json.loads(answer.text) in ({"colour": "red"}, {"colour": "green"})


def test_any_object(session):
    answer = session.chat(TOM, response_format={"type": "json_object"}, temperature=0)
    assert isinstance(json.loads(answer.text), dict)


def test_with_a_stream_and_a_hook(session):
    calls = []
    stream = session.chat(TOM, response_format=PERSON, stream=True, temperature=0,
                          logits_hook=lambda tokens, logits: calls.append(len(tokens)))
    assert json.loads("".join(stream)) == {"name": "Tom", "age": 12}
    assert calls == list(range(len(stream.tokens)))


def test_a_thought_may_come_first(session):
    script = session.tokenize("<|channel>thought\nHm.<channel|>", special=True, bos=False)

    def think(tokens, logits):
        if len(tokens) < len(script):
            logits[script[len(tokens)]] = 1e9

    answer = session.chat(TOM, thinking=True, response_format=PERSON, logits_hook=think, temperature=0, max_tokens=200)
    assert answer.thought == "Hm."
    assert json.loads(answer.text).keys() == {"name", "age"}


@pytest.mark.parametrize("wrong, error, words", [
    ("json", TypeError, "must be a dictionary, not str"),
    ({"type": "json_schema"}, g4.ArgumentError, 'no ["json_schema"]["schema"]'),
    ({"type": "json_schema", "json_schema": 3}, g4.ArgumentError, 'no ["json_schema"]["schema"]'),
    ({"type": "nonsense"}, g4.ArgumentError, "response_format"),
    ({"type": "string", "pattern": "("}, g4.ArgumentError, "response_format"),
])
def test_wrong_formats(session, wrong, error, words):
    with pytest.raises(error) as raised:
        session.chat(TOM, response_format=wrong)
    assert words in str(raised.value)
    assert session.position == 0


def test_without_llguidance(session, monkeypatch):
    monkeypatch.setitem(sys.modules, "llguidance", None)
    with pytest.raises(ImportError, match=r"pip install 'g4\[json\]'"):
        session.chat(TOM, response_format=PERSON)
