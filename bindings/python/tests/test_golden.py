"""Python gives what the C++ tests expect: the reference's logits at every position, the demo model's answers."""

import json
import math

import numpy as np
import pytest

import g4

TINY_MODELS = ["e2b-tiny", "e4b-tiny", "dense31b-tiny", "moe26b-tiny"]
DTYPES = {"F32": np.float32, "I32": np.int32, "I16": np.int16, "U8": np.uint8}


def read_safetensors(path):
    """The arrays of a file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    arrays = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__" and entry["dtype"] in DTYPES:
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            arrays[name] = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def relative_error(got, expected):
    """The largest difference, relative to the largest reference value."""
    assert got.shape == expected.shape and np.isfinite(got).all()
    return np.abs(got.astype(np.float64) - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize("name", TINY_MODELS)
@pytest.mark.parametrize("prompt", ["prompt7", "prompt100"])
def test_logits_at_every_position(goldens, name, prompt):
    golden = read_safetensors(goldens / "tiny" / name / "goldens.safetensors")
    ids, expected = golden[f"{prompt}.ids"], golden[f"{prompt}.logits"]
    with g4.Session(goldens / "tiny" / name / "model.gguf", kv_type="f32", precision="f32") as session:
        every = session.prefill(ids, logits="all")
        assert every.dtype == np.float32
        assert relative_error(every, expected.reshape(every.shape)) < 2e-4
        session.reset()
        last = session.prefill(list(map(int, ids)))
        assert (last == every[-1]).all()
        greedy = [session.decode(temperature=0) for _ in golden[f"{prompt}.greedy"].ravel()]
        assert greedy == list(golden[f"{prompt}.greedy"].ravel())


def test_logits_of_quantised_models(goldens):
    golden = read_safetensors(goldens / "tiny" / "quant-tiny" / "goldens.safetensors")
    for kind in ["Q8_0", "Q4_0", "Q4_K", "Q6_K"]:
        ids, expected = golden[f"{kind}.prompt7.ids"], golden[f"{kind}.prompt7.logits"]
        path = goldens / "tiny" / "quant-tiny" / f"model-{kind}.gguf"
        with g4.Session(path, kv_type="f32", precision="f32") as session:
            got = session.prefill(ids, logits="all")
            assert relative_error(got, expected.reshape(got.shape)) < 2e-4


def test_the_demo_model_answers_token_for_token(session, goldens):
    cases = [case for case in json.loads((goldens / "demo" / "expected.json").read_text())["cases"]
             if not {"image", "audio"} & case.keys() and case["skill"] != "story"]  # stories: near-ties
    assert len(cases) == 36
    for case in cases:
        tools = case.get("tools")
        assert session.tokenizer.tokenize_chat(case["messages"], tools) == case["prompt_ids"]
        assert session.tokenizer.render(case["messages"], tools) == case["prompt"]
        stream = session.chat(case["messages"], tools, stream=True, temperature=0)
        answer = stream.finish()
        assert stream.tokens == case["answer_ids"], case["id"]
        if not answer.tool_calls:
            assert answer.text == case["answer"]


def test_the_logits_are_those_of_the_file(session):
    ids = session.tokenize("The capital of Kenya")
    last = session.prefill(ids)
    assert last.shape == (len(session.tokenizer),) == (session.info["vocabulary"],)
    assert session.sample(temperature=0) == int(last.argmax())
    probability = np.exp(last - last.max()) / np.exp(last - last.max()).sum()
    assert math.isclose(probability.sum(), 1, rel_tol=1e-4)
