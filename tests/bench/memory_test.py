#!/usr/bin/env python3
"""The memory that a model takes, on E2B with random weights, fewer layers and fewer tokens (bench/synthetic.py)."""
import hashlib
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import answer, expect, expect_equal, main, source_path, test  # noqa: E402

sys.path.insert(0, source_path("bench"))
import synthetic  # noqa: E402

# E2B is to run in 1500 MB, from a prepared file in 1450, of which its weights take 1386: whatever the number of layers, so much may come
# on top.
ALLOWANCE_BYTES, PREPARED_ALLOWANCE_BYTES = 114_000_000, 64_000_000


def written(layers, vocab, folder):
    path = os.path.join(folder, "model.gguf")
    synthetic.write_model(path, "e2b", layers, vocab)
    return path


@test
def one_copy_of_the_weights_and_little_of_the_table():
    with tempfile.TemporaryDirectory() as folder:
        path, prepared = written(6, 65536, folder), os.path.join(folder, "prepared")
        answer("prepare", path, prepared)
        for model, allowance in ((path, ALLOWANCE_BYTES), (prepared, PREPARED_ALLOWANCE_BYTES)):
            bench = json.loads(answer("bench", model, "--prefill", "1024", "--decode", "4", "--context", "4096", "--repeat", "1",
                                      "--threads", "2", "--json"))
            expect(bench["weights_bytes"] > 2 * allowance, "too small to tell one copy from two")
            expect(bench["ple_bytes"] > 0.6 * allowance, "too small to tell whether the table is in memory")
            expect(bench["peak_resident_bytes"] < bench["weights_bytes"] + allowance,
                   f"{model}: {bench['peak_resident_bytes']} bytes for {bench['weights_bytes']} bytes of weights")
            if model == prepared:
                expect(bench["resident_anonymous_bytes"] < allowance, "the weights are a copy")


@test
def the_synthetic_model_has_the_shapes_of_e2b():
    with tempfile.TemporaryDirectory() as folder:
        path = written(10, 2048, folder)
        info = json.loads(answer("info", path, "--json"))
        first = hashlib.sha256(open(path, "rb").read()).digest()
        expect_equal(first, hashlib.sha256(open(written(10, 2048, folder), "rb").read()).digest())
        expect_equal(os.listdir(folder), ["model.gguf"])
    expect_equal([info[key] for key in ("layer_count", "shared_kv_layer_count", "hidden_size", "vocab_count", "quantisation", "ple_size")],
                 [10, 5, 1536, 2048, "Q4_0", 256])
    expect_equal([row["source_layer"] for row in info["kv_layers"]], [0, 1, 2, 3, 4, 3, 3, 3, 3, 4])


main()
