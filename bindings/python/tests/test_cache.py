"""A cache of prompts on disk."""

import os
import warnings

import pytest
from conftest import KENYA, NAIROBI
from test_errors import raises

import g4


def test_a_folder_finds_prompts_again(session, tmp_path):
    folder = tmp_path / "cache"
    ids = session.tokenizer.tokenize_chat(KENYA)
    assert session.extend(ids, cache=folder) == 0
    expected, files = session.logits, os.listdir(folder)
    assert len(files) >= 1
    with g4.Session() as other, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert other.extend(ids, cache=os.fsencode(folder)) == len(ids)
        assert (other.logits == expected).all() and other.stats["prefill_tokens"] == 0
        assert other.generate(temperature=0) == NAIROBI
        other.reset()
        answer = other.chat(KENYA, temperature=0, cache=str(folder))
        assert answer.text == NAIROBI and answer.usage.reused_tokens == len(ids)
        streamed = other.chat(KENYA, stream=True, temperature=0, cache=g4.Cache(folder, limit_bytes=2**30))
        assert streamed.finish().text == NAIROBI


def test_one_file_holds_the_last_prompt(session, tmp_path):
    cache = g4.Cache(tmp_path / "last.g4kv", single_file=True)
    ids = session.tokenizer.tokenize_chat(KENYA)
    session.extend(ids, cache=cache)
    assert g4.probe_kv(cache.path)["tokens"] == ids
    with g4.Session() as other:
        assert other.extend(ids + [5], cache=cache) == len(ids)


def test_a_cache_that_cannot_be_used_gives_a_warning(session, tmp_path):
    (tmp_path / "file").write_bytes(b"no folder")
    ids = session.tokenize(KENYA)
    with pytest.warns(g4.CacheWarning, match="file") as caught:
        assert session.extend(ids, cache=tmp_path / "file") == 0
    assert caught[0].filename == __file__
    assert session.position == len(ids)
    with pytest.warns(g4.CacheWarning):
        session.extend(ids + [5], cache=g4.Cache(tmp_path / "no" / "x.g4kv", single_file=True))


@pytest.mark.parametrize("cache, error, words", [
    (5, TypeError, "cache must be a path"),
    ("a\0b", g4.ArgumentError, "zero byte"),
    (g4.Cache("x", limit_bytes=-1), g4.ArgumentError, "limit_bytes is -1"),
    (g4.Cache(None), TypeError, "cache must be a path"),
])
def test_caches_that_are_none(session, cache, error, words):
    raises(error, words, session.extend, [5], cache=cache)
    raises(error, words, session.chat, KENYA, cache=cache)
    assert session.position == 0
