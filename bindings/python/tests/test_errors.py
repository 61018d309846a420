"""Misuse raises an exception that says what to do, and leaves the session as it was."""

import os

import numpy as np
import pytest
from conftest import KENYA, NAIROBI

import g4


def raises(error, words, call, *arguments, **options):
    with pytest.raises(error) as raised:
        call(*arguments, **options)
    assert words in str(raised.value), str(raised.value)
    return raised.value


def test_the_classes_follow_the_statuses():
    kinds = g4.Error.__subclasses__()
    assert sorted(kind.status for kind in kinds) == [10, 12, 20, 21, 22, 23, 30, 31, 40, 90]
    assert issubclass(g4.FileError, OSError) and issubclass(g4.ArgumentError, ValueError)
    assert issubclass(g4.OutOfMemoryError, MemoryError)


def test_files_that_are_not_there(tmp_path, session):
    missing = tmp_path / "no.gguf"
    for call in (g4.Session, g4.Tokenizer, g4.estimate, g4.probe_kv, session.load_kv):
        error = raises(g4.FileError, "no.gguf", call, missing)
        assert error.status == 20 and isinstance(error, g4.Error)
    raises(g4.FileError, "no-folder", session.save_kv, tmp_path / "no-folder" / "file")
    raises(g4.FileError, str(tmp_path), g4.Session, tmp_path)
    raises(g4.FileError, "", g4.Session, "")
    raises(g4.FileError, "\ufffd", g4.Session, b"/no/\xff\xfe.gguf")
    raises(g4.FileError, "nothing", g4.Session, ple_path="nothing.gguf")


def test_files_that_are_no_models(tmp_path, session):
    path = tmp_path / "bad.gguf"
    with open(g4.demo_model(), "rb") as file:
        data = file.read()
    for bad in (b"", b"x", b"GGUF", b"nonsense" * 1000, data[:1000], data[:-1], b"GGUF" + os.urandom(5000)):
        path.write_bytes(bad)
        for call in (g4.Session, g4.estimate):
            error = raises(g4.Error, "bad.gguf", call, path)
            assert error.status in (20, 21, 22)
        raises(g4.Error, "bad.gguf", g4.probe_kv, path)
        raises(g4.Error, "bad.gguf", session.load_kv, path)


def test_kv_files_of_others(tmp_path, session):
    session.prefill(session.tokenize(KENYA))
    path = tmp_path / "state.g4kv"
    session.save_kv(path)
    with g4.Session(kv_type="f32") as other:
        raises(g4.MismatchError, "f32", other.load_kv, path)
        assert other.position == 0
    with g4.Session(context=3) as small:
        raises(g4.ContextFullError, "", small.load_kv, path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    raises(g4.FormatError, "state.g4kv", session.load_kv, path)
    session.decode()


@pytest.mark.parametrize("path", [3, 1.5, ["a"], object(), {}])
def test_paths_of_a_wrong_type(path, session):
    for call in (g4.Session, g4.Tokenizer, g4.estimate, g4.probe_kv, session.load_kv, session.save_kv):
        raises(TypeError, "path must be a path", call, path)


def test_a_path_with_a_zero_byte():
    raises(g4.ArgumentError, "zero byte", g4.Session, "a\0b")


@pytest.mark.parametrize("options, error, words", [
    ({"context": -1}, g4.ArgumentError, "context is -1"),
    ({"context": 2**40}, g4.ArgumentError, "context is"),
    ({"context": 4096}, g4.ArgumentError, "4096"),
    ({"context": "many"}, TypeError, "context must be an int, not str"),
    ({"context": 2.0}, TypeError, "context must be an int, not float"),
    ({"threads": True}, TypeError, "threads must be an int, not bool"),
    ({"kv_type": "q4"}, g4.ArgumentError, "kv_type is 'q4'; allowed is 'f16', 'f32', 'q8_0'"),
    ({"kv_type": None}, g4.ArgumentError, "kv_type is None"),
    ({"precision": "f64"}, g4.ArgumentError, "allowed is 'int8', 'f32'"),
    ({"cpu": "z80"}, g4.ArgumentError, "z80"),
    ({"cpu": 80}, TypeError, "g4.cpus()"),
    ({"progress": 5}, TypeError, "progress must be a function"),
    ({"mmap": True}, TypeError, "mmap"),
])
def test_options_of_a_session(options, error, words):
    raises(error, words, g4.Session, **options)


@pytest.mark.parametrize("ids, error, words", [
    (b"text", TypeError, "tokenize(text)"),
    (5, TypeError, "flat sequence of ints"),
    (None, TypeError, "flat sequence of ints"),
    ([1.5], TypeError, "must hold ints, not float64"),
    ([True], TypeError, "must hold ints, not bool"),
    ([None], TypeError, "must hold ints"),
    ([[1, 2], [3, 4]], TypeError, "not of shape (2, 2)"),
    ([[1, 2], [3]], TypeError, "flat sequence of ints"),
    (np.zeros(3, np.float32), TypeError, "must hold ints, not float32"),
    (np.zeros(3, np.complex64), TypeError, "must hold ints"),
    (np.zeros((2, 2), np.int32), TypeError, "shape (2, 2)"),
    (np.int32(3), TypeError, "shape ()"),
    ([-1], g4.ArgumentError, "-1"),
    ([2048], g4.ArgumentError, "2048"),
    ([2**31], g4.ArgumentError, "no token ids"),
    ([2**63], g4.ArgumentError, "no token ids"),
    ([2**70], TypeError, "must hold ints"),
    ([], g4.ArgumentError, ""),
    ([5] * 3000, g4.ContextFullError, "3000"),
    ({1, 2}, TypeError, "flat sequence of ints"),
    ({"a": 1}, TypeError, "flat sequence of ints"),
])
def test_ids(session, ids, error, words):
    for call in (session.prefill, session.extend):
        raises(error, words, call, ids)
    assert session.position == 0


def test_ids_to_text(session):
    raises(g4.ArgumentError, "9999", session.detokenize, [9999])
    raises(TypeError, "tokenize(text)", session.detokenize, "text")
    raises(TypeError, "text must be a str, not int", session.tokenize, 5)
    raises(TypeError, "text must be a str, not bytes", session.tokenize, b"text")
    raises(g4.ArgumentError, "half a character", session.tokenize, "a\ud800b")
    raises(TypeError, "id must be an int", session.tokenizer.is_stop, "x")
    assert not session.tokenizer.is_stop(-1)


@pytest.mark.parametrize("options, error, words", [
    ({"temperature": -1}, g4.ArgumentError, "temperature"),
    ({"temperature": float("nan")}, g4.ArgumentError, "temperature"),
    ({"temperature": "hot"}, TypeError, "temperature must be a number, not str"),
    ({"temperature": None}, TypeError, "temperature must be a number, not NoneType"),
    ({"top_k": -2}, g4.ArgumentError, "top_k is -2"),
    ({"top_k": 1.5}, TypeError, "top_k must be an int"),
    ({"top_p": 0}, g4.ArgumentError, "top_p is 0"),
    ({"top_p": 1.5}, g4.ArgumentError, "top_p"),
    ({"min_p": 1}, g4.ArgumentError, "min_p"),
    ({"repetition_penalty": 0}, g4.ArgumentError, "repetition_penalty is 0"),
    ({"repetition_penalty": -1}, g4.ArgumentError, "repetition_penalty"),
    ({"seed": -1}, g4.ArgumentError, "seed is -1"),
    ({"seed": "x"}, TypeError, "seed must be an int"),
    ({"logit_bias": [1, 2]}, TypeError, "logit_bias must map token ids to numbers"),
    ({"logit_bias": {99999: 1}}, g4.ArgumentError, "99999"),
    ({"logit_bias": {"a": 1}}, TypeError, "a token of logit_bias must be an int"),
    ({"logit_bias": {5: "b"}}, TypeError, "a value of logit_bias must be a number"),
    ({"tmperature": 1}, TypeError, "unknown option 'tmperature'"),
])
def test_sampling_options(session, options, error, words):
    session.prefill([5, 6])
    for call in (session.sample, session.decode, session.generate):
        raises(error, words, call, **options)
    assert session.position == 2
    session.reset()
    raises(error, words, session.chat, KENYA, **options)


@pytest.mark.parametrize("options, error, words", [
    ({"max_tokens": 0}, g4.ArgumentError, "max_tokens is 0"),
    ({"max_tokens": "9"}, TypeError, "max_tokens must be an int"),
    ({"stop": [""]}, g4.ArgumentError, "stop"),
    ({"stop": "a\0"}, g4.ArgumentError, "zero byte"),
    ({"stop": 5}, TypeError, ""),
    ({"stop": [5]}, TypeError, "stop must be a str"),
    ({"logits_hook": 5}, TypeError, "logits_hook must be a function"),
    ({"progress": 5}, TypeError, "progress must be a function"),
])
def test_options_of_an_answer(session, options, error, words):
    raises(error, words, session.generate, "Hello", **options)
    raises(error, words, session.chat, KENYA, **options)
    assert session.position == 0


@pytest.mark.parametrize("messages, error, words", [
    (5, TypeError, "messages must be a list"),
    (None, TypeError, "messages must be a list"),
    ({"role": "user", "content": "Hi"}, TypeError, "messages must be a list"),
    ([], g4.ArgumentError, "messages"),
    (["Hi"], g4.ArgumentError, ""),
    ([5], g4.ArgumentError, ""),
    ([{"role": "wizard", "content": "Hi"}], g4.ArgumentError, "wizard"),
    ([{"role": "user", "content": 5}], g4.ArgumentError, "content"),
    ([{"role": "user", "content": [{"type": "smell"}]}], g4.ArgumentError, "smell"),
    ([{"role": "user", "content": {1, 2}}], TypeError, "not set"),
    ([{"role": "user", "content": b"Hi"}], TypeError, "not bytes"),
    ([{"role": "user", "content": float("nan")}], g4.ArgumentError, "JSON"),
    ("half \ud800", g4.ArgumentError, ""),
])
def test_messages(session, messages, error, words):
    for call in (session.chat, session.tokenizer.render, session.tokenizer.tokenize_chat):
        raises(error, words, call, messages)
    assert session.position == 0


def test_messages_that_hold_themselves(session):
    messages = [{"role": "user", "content": []}]
    messages[0]["content"].append(messages)
    raises(g4.ArgumentError, "JSON", session.chat, messages)
    deep = []
    for _ in range(100000):
        deep = [deep]
    raises(g4.ArgumentError, "deep", session.chat, [{"role": "user", "content": deep}])


def test_tools(session):
    raises(TypeError, "tools must be a list", session.chat, KENYA, tools="add")
    raises(TypeError, "tools must be a list", session.chat, KENYA, tools={"type": "function"})
    raises(g4.ArgumentError, "", session.chat, KENYA, tools=[{"type": "function"}])
    raises(TypeError, "not function", session.chat, KENYA, tools=[raises])


def test_before_anything_was_evaluated(session):
    for call in (session.sample, session.decode, session.generate):
        raises(g4.StateError, "no logits", call)
    raises(g4.StateError, "no logits", lambda: session.logits)
    raises(g4.ArgumentError, "the session stands at 0", session.truncate, 1)
    raises(g4.ArgumentError, "position is -1", session.truncate, -1)
    raises(TypeError, "position must be an int", session.truncate, "x")
    raises(g4.ArgumentError, "'best'", session.prefill, [5], logits="best")


def test_after_close(tmp_path):
    session = g4.Session()
    stream = session.chat(KENYA, stream=True, temperature=0)
    next(stream)
    session.close()
    session.close()
    for call in (lambda: session.prefill([5]), lambda: session.prefill([5], "all"), lambda: session.extend([5]),
                 session.sample, session.decode, session.generate, lambda: session.generate("x"),
                 lambda: session.chat(KENYA), session.fork, session.cancel, session.reset, lambda: session.truncate(0),
                 lambda: session.save_kv(tmp_path / "x"), lambda: session.load_kv(tmp_path / "x"),
                 lambda: session.logits, lambda: session.position, lambda: session.tokens, lambda: session.rewind_min,
                 lambda: session.info, lambda: session.stats, lambda: next(stream)):
        raises(g4.StateError, "closed; open another with g4.Session(path)", call)
    assert stream.message.text == "The"
    assert session.tokenize("") == [2]
    with pytest.raises(ZeroDivisionError), g4.Session() as other:
        1 / 0
    raises(g4.StateError, "closed", lambda: other.position)


def test_the_extension_module_refuses_wrong_types(session):
    core = session._core
    for call in (core.prefill, core.extend):
        for ids in ([1], np.zeros(2, np.float32), None, "x"):
            with pytest.raises(TypeError):
                call(ids, 1, 2)
    for pixels in (np.zeros((2, 2, 3)), np.zeros((2, 2), np.uint8), None):
        with pytest.raises((TypeError, IndexError)):
            core.encode_image(pixels, 70)
    for samples in (np.zeros((2, 1)), np.zeros(2, np.int16), None):
        with pytest.raises((TypeError, IndexError)):
            core.encode_audio(samples, 16000, False)
    with pytest.raises(TypeError):
        g4._core.Session("path", None, None)
    with pytest.raises(TypeError):
        g4._core.Generation(None, None, 0, [], False, None)


def test_the_session_works_after_all_that(session):
    raises(g4.ArgumentError, "", session.prefill, [-1])
    assert session.chat(KENYA, temperature=0).text == NAIROBI
