"""What a session can do."""

import os
import pickle
import re

import numpy as np
import pytest
from conftest import KENYA, NAIROBI

import g4


@pytest.fixture
def prompt(session):
    return session.tokenizer.tokenize_chat(KENYA)


def greedy(session, count):
    return [session.decode(temperature=0) for _ in range(count)]


def test_tokens_and_text(session):
    ids = session.tokenize("Nairobi, 27 + 36")
    assert ids[0] == session.tokenize("<bos>", special=True, bos=False)[0] == 2
    assert session.detokenize(ids) == "Nairobi, 27 + 36"
    assert session.detokenize(ids, special=True) == "<bos>Nairobi, 27 + 36"
    assert session.tokenize("", bos=False) == [] and session.detokenize([]) == ""
    assert len(session.tokenize("<|turn>")) > len(session.tokenize("<|turn>", special=True))
    text = "ÄÖÜ 你好 🙂 \0 \n\n"
    assert session.detokenize(session.tokenize(text)) == text
    assert session.detokenize(session.tokenize("🙂", bos=False)[:1]) == "\ufffd"


def test_prefill_gives_the_last_all_or_no_logits(session, prompt):
    every = session.prefill(prompt, logits="all")
    assert every.shape == (len(prompt), session.info["vocabulary"]) and every.dtype == np.float32
    session.reset()
    last = session.prefill(prompt)
    assert last.shape == every.shape[1:] and (last == every[-1]).all() and (last == session.logits).all()
    session.reset()
    assert session.prefill(prompt, logits="none") is None
    assert (session.logits == last).all()
    assert session.position == len(prompt) and session.tokens == prompt


def test_ids_may_be_lists_or_arrays_of_ints(session, prompt):
    expected = session.prefill(prompt)
    for ids in (tuple(prompt), range(0), np.array(prompt), np.array(prompt, np.uint16), np.array(prompt * 2)[::1][:len(prompt)],
                np.repeat(prompt, 2)[::2], [np.int64(id) for id in prompt]):
        session.reset()
        if len(ids):
            assert (session.prefill(ids) == expected).all()


def test_logits_are_read_only_and_stay(session, prompt):
    first = session.prefill(prompt)
    copy = first.copy()
    greedy(session, 3)
    assert (first == copy).all() and (session.logits != copy).any()
    with pytest.raises(ValueError):
        first[0] = 0
    session.close()
    assert (first == copy).all()


def test_sampling(session, prompt):
    session.prefill(prompt)
    assert session.sample(temperature=0) == session.sample(temperature=0.001, seed=1)
    assert {session.sample(seed=7, temperature=3.0, top_k=0, top_p=1) for _ in range(5)} == {
        session.sample(seed=7, temperature=3.0, top_k=-1, top_p=1.0)}
    assert len({session.sample(temperature=5.0, top_k=0, top_p=1) for _ in range(40)}) > 1  # another seed each time
    best = session.sample(temperature=0)
    assert session.sample(temperature=0, logit_bias={best: -np.inf}) != best
    assert session.sample(temperature=0, logit_bias={123: 1e9}) == 123
    assert session.sample(top_k=1) == best and session.sample(min_p=0.999999) == best
    assert session.position == len(prompt)


def test_generate(session):
    text = session.tokenizer.render(KENYA)[len("<bos>"):]
    ids = session.tokenize(text, special=True)
    assert session.generate(ids, temperature=0) == NAIROBI
    session.reset()
    assert session.generate(ids, temperature=0, stop="Nai") == "The capital of Kenya is "
    session.reset()
    assert session.generate(ids, 3, temperature=0) == "The capital of"
    assert session.position == len(ids) + 3
    assert session.generate(temperature=0) == " Kenya is Nairobi."
    session.reset()
    pieces = list(session.generate(ids, stream=True, temperature=0))
    assert "".join(pieces) == NAIROBI and len(pieces) > 3 and all(isinstance(piece, str) for piece in pieces)
    session.reset()
    session.generate("Once", max_tokens=4, temperature=0, ignore_stop=True)
    assert session.position == len(session.tokenize("Once")) + 4
    at = session.position
    session.generate(" upon", max_tokens=1)
    assert session.position == at + len(session.tokenize(" upon", bos=False)) + 1


def test_a_logits_hook_steers(session, prompt):
    seen = []

    def hook(tokens, logits):
        assert logits.dtype == np.float32 and logits.shape == (session.info["vocabulary"],)
        assert session.position == len(prompt) + len(tokens)  # reading is allowed
        seen.append((list(tokens), logits))
        logits[:] = -np.inf
        logits[100 + len(tokens)] = 0

    stream = session.generate(prompt, max_tokens=3, logits_hook=hook, stream=True)
    stream.finish()
    assert stream.tokens == [100, 101, 102]
    assert [tokens for tokens, _ in seen] == [[], [100], [100, 101]]
    assert all(logits[100 + index] == 0 for index, (_, logits) in enumerate(seen))  # may be kept

    def failing(tokens, logits):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        session.generate(max_tokens=3, logits_hook=failing)
    for wrong in (lambda tokens, logits: logits, lambda tokens, logits: logits.resize(3, refcheck=False)):
        with pytest.raises((TypeError, ValueError), match="logits_hook"):
            session.generate(max_tokens=3, logits_hook=wrong)
    with pytest.raises(g4.StateError, match="call is running"):
        session.generate(max_tokens=3, logits_hook=lambda tokens, logits: session.reset())
    assert session.position == len(prompt) + 3
    session.decode()


def test_progress(prompt):
    steps = []
    with g4.Session(progress=lambda done, total: steps.append((done, total))) as session:
        assert steps and steps[-1][0] == steps[-1][1]
        steps.clear()
        session.prefill(prompt * 20, progress=lambda done, total: steps.append((done, total)))
        assert steps[-1] == (len(prompt) * 20, len(prompt) * 20)

        def stop(done, total):
            raise RuntimeError("enough")

        session.reset()
        with pytest.raises(RuntimeError, match="enough"):
            session.prefill(prompt * 20, progress=stop)
        assert session.position == 0
    with pytest.raises(RuntimeError, match="enough"):
        g4.Session(progress=stop)


def test_extend_evaluates_only_what_is_new(session, prompt):
    assert session.extend(prompt) == 0
    longer = prompt + [500, 501]
    assert session.extend(longer) == len(prompt)
    with_extend = session.logits
    session.reset()
    assert (session.prefill(longer) == with_extend).all()
    assert session.stats["reused_tokens"] == len(prompt)


def test_truncate_fork_and_reset_are_exact(session, prompt):
    session.prefill(prompt)
    expected = greedy(session, 5)
    session.truncate(len(prompt) - 1)
    with pytest.raises(g4.StateError, match="no logits"):
        session.logits
    session.prefill(prompt[-1:])
    other = session.fork()
    assert (other.logits == session.logits).all()
    assert greedy(session, 5) == expected and other.position == len(prompt)
    session.close()
    assert greedy(other, 5) == expected
    other.reset()
    assert other.position == 0 and other.tokens == [] and other.rewind_min == 0


def test_rewind_min_and_reevaluation(session, prompt):
    ids = (prompt * 40)[:700]
    session.prefill(ids, logits="none")
    assert 200 < session.rewind_min < 700
    with pytest.raises(g4.StateError, match="exact"):
        session.truncate(200)
    assert session.position == 700
    session.truncate(200, reevaluate=True)
    assert session.position == 200


def test_save_and_load(session, prompt, tmp_path):
    session.prefill(prompt)
    path = tmp_path / "Grüße.g4kv"
    assert session.save_kv(path) == os.path.getsize(path)
    header = g4.probe_kv(path)
    assert header["positions"] == len(prompt) and header["tokens"] == prompt and header["kv_type"] == "f16"
    assert header["has_logits"] and header["fingerprint"] == session.info["fingerprint"]
    assert header["file_bytes"] == os.path.getsize(path)
    expected = greedy(session, 5)
    session.reset()
    assert session.load_kv(str(path)) == len(prompt)
    assert greedy(session, 5) == expected
    restored = session.load_kv(path, prompt[:5] + [77])
    assert restored == session.position <= 5
    assert session.load_kv(path, ids=np.array(prompt)) == len(prompt)
    assert greedy(session, 5) == expected


def test_information(session, prompt):
    info = session.info
    assert info["architecture"] == "gemma4" and info["layers"] == 10 == len(info["kv_sources"])
    assert info["kv_sources"] == [0, 1, 2, 3, 4, 3, 3, 3, 3, 4]
    assert info["vocabulary"] == 2048 and info["context"] == 2048 and info["quantisation"] == "Q8_0"
    assert info["kv_type"] == "f16" and info["precision"] == "int8" and info["cpu"] in g4.cpus()
    assert [layer["sliding"] for layer in info["kv_layers"]] == [True] * 4 + [False] + [True] * 4 + [False]
    session.prefill(prompt)
    session.decode()
    stats = session.stats
    assert stats["tokens"] == len(prompt) + 1 and stats["decode_tokens"] == 1
    assert stats["layer_rows"][0] == len(prompt) + 1 > stats["layer_rows"][-1] == 2  # pruned
    assert stats["prefill_seconds"] > 0 and stats["decode_seconds"] > 0 and stats["kv_bytes"] > 0
    memory = g4.estimate(context=100)
    assert memory["total"] == memory["weights"] + memory["kv"] + memory["scratch"]
    assert g4.estimate(g4.demo_model(), context=2000, kv_type="f32")["kv"] > memory["kv"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", g4.__version__) and g4.abi_version() == 1
    assert g4.cpus()[-1] == "generic"


def test_a_prepared_model_is_the_same(tmp_path, session, prompt):
    path, done = tmp_path / "demo.g4", []
    g4.prepare(g4.demo_model(), path, threads=2, progress=lambda *counts: done.append(counts))
    assert done[-1] == (os.path.getsize(g4.demo_model()),) * 2 and os.path.getsize(path) == done[-1][0] + 4096
    with g4.Session(path) as prepared:
        assert np.array_equal(prepared.prefill(prompt), session.prefill(prompt))
        prepared.save_kv(tmp_path / "state")
    session.load_kv(tmp_path / "state")
    os.remove(tmp_path / "state")
    with pytest.raises(g4.ArgumentError, match="is the model itself"):
        g4.prepare(path, path)
    with pytest.raises(ZeroDivisionError):
        g4.prepare(path, tmp_path / "other", progress=lambda *_: 1 / 0)
    assert os.listdir(tmp_path) == ["demo.g4"]


def test_options(prompt):
    with g4.Session(context=50, threads=1, kv_type="f32", precision="f32", cpu="generic") as session:
        info = session.info
        assert (info["context"], info["threads"], info["kv_type"], info["precision"], info["cpu"]) == (
            50, 1, "f32", "f32", "generic")
        with pytest.raises(g4.ContextFullError):
            session.prefill(prompt * 3)
        assert session.position == 0
    with g4.Session(kv_type="q8_0") as session:
        assert session.info["kv_type"] == "q8_0" and session.chat(KENYA, temperature=0).text == NAIROBI
    with g4.Session(g4.demo_model().encode(), ple_path=g4.demo_model()) as session:
        session.prefill(prompt)


def test_repr_tells_what_it_is(session, prompt):
    session.prefill(prompt)
    assert re.fullmatch(rf"<g4.Session 'g4-demo-q8_0.gguf', custom Q8_0, \w+, {len(prompt)} of 2048 positions>", repr(session))
    stream = session.generate(stream=True, temperature=0)
    next(stream)
    assert repr(stream) == "<g4.Stream 1 tokens, not finished: 'The'>"
    assert repr(session.tokenizer) == "<g4.Tokenizer 2048 tokens>"
    session.close()
    assert "closed" in repr(session)


def test_a_tokenizer_needs_no_session(session):
    tokenizer = g4.Tokenizer(g4.demo_model())
    assert tokenizer.tokenize(KENYA) == session.tokenize(KENYA)
    own = session.tokenizer
    session.close()
    assert own.tokenize(KENYA) == tokenizer.tokenize(KENYA) and len(own) == 2048
    messages = [{"role": "user", "content": "Hi"}]
    assert own.render(messages) == "<bos><|turn>user\nHi<turn|>\n<|turn>model\n<|channel>thought\n<channel|>"
    assert own.render(messages, add_generation_prompt=False) == "<bos><|turn>user\nHi<turn|>\n"
    assert "<|think|>" in own.render(messages, thinking=True)
    assert own.is_stop(own.tokenize("<turn|>", special=True, bos=False)[0]) and not own.is_stop(500)


def test_sessions_cannot_be_pickled(session):
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(session)
