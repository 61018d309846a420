#!/usr/bin/env python3
"""g4 info, g4 bench, g4 prepare, g4 --version: tables and JSON."""
import json
import os
import re
import tempfile

from harness import DEMO, answer, expect, expect_equal, expect_failure, g4, main, test


@test
def info_as_json():
    info = json.loads(answer("info", "--json", "--context", "500", "--threads", "1"))
    expect_equal({key: info[key] for key in ("path", "architecture", "quantisation", "layer_count", "hidden_size", "vocab_count",
                                             "context_count", "model_context_count", "sliding_window", "shared_kv_layer_count",
                                             "ple_size", "expert_count", "thread_count", "kv_type")},
                 {"path": info["path"], "architecture": "gemma4", "quantisation": "Q8_0", "layer_count": 10, "hidden_size": 128,
                  "vocab_count": 2048, "context_count": 500, "model_context_count": 2048, "sliding_window": 64,
                  "shared_kv_layer_count": 5, "ple_size": 32, "expert_count": 0, "thread_count": 1, "kv_type": "f16"})
    expect_equal([row["source_layer"] for row in info["kv_layers"]], [0, 1, 2, 3, 4, 3, 3, 3, 3, 4])
    expect_equal([row["kind"] for row in info["kv_layers"]], (["sliding"] * 4 + ["full"]) * 2)
    estimate = info["estimate"]
    expect_equal(estimate["total_bytes"], estimate["weights_bytes"] + estimate["kv_bytes"] + estimate["scratch_bytes"])


@test
def info_as_a_table():
    table = answer("info", DEMO)
    for word in ("g4 demo", "gemma4", "Q8_0", "2048", "sliding", "KV cache"):
        expect(word in table, f"{word} is not in the table")


@test
def bench_as_json():
    bench = json.loads(answer("bench", "--prefill", "48", "--decode", "8", "--threads", "2", "--repeat", "2", "--depth", "16", "--json"))
    for key in ("open_seconds", "prefill_tokens_per_s", "decode_tokens_per_s", "resident_bytes", "peak_resident_bytes",
                "time_to_first_token_seconds", "resident_anonymous_bytes", "resident_file_bytes", "weights_bytes", "kv_bytes"):
        expect(isinstance(bench[key], (int, float)) and bench[key] > 0, f"{key} is {bench[key]!r}")
    for key, value in {"prefill_tokens": 48, "decode_tokens": 8, "threads": 2, "depth": 16, "context": 72}.items():
        expect_equal(bench[key], value)
    expect_equal(len(bench["runs"]), 2)
    expect(bench["peak_resident_bytes"] >= bench["resident_bytes"], "the peak is below what is resident")


@test
def bench_as_a_table():
    table = answer("bench", "--prefill", "16", "--decode", "4", "--repeat", "1")
    for pattern in (r"prefill +16 ", r"decode +4 ", r"first token", r"open", r"memory .*peak"):
        expect(re.search(pattern, table), f"{pattern} is not in the table")


@test
def bench_of_several_sessions():
    bench = json.loads(answer("bench", "--prefill", "16", "--decode", "4", "--sessions", "3", "--repeat", "1", "--json"))
    expect_equal([bench["sessions"], bench["decode_tokens"]], [3, 4])
    rate = 3 * 4 / bench["runs"][0]["decode_seconds"]
    expect(abs(bench["decode_tokens_per_s"] - rate) < 1e-6 * rate, "the rate is not that of all sessions")
    expect("save_seconds" not in bench, "nothing was saved")
    expect_failure(g4("bench", "--sessions", "0"), 2, "--sessions")


@test
def bench_of_a_restored_prompt():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "prompt.kv")
        arguments = ["bench", "--prefill", "40", "--depth", "30", "--decode", "2", "--repeat", "2", "--restore", path]
        bench = json.loads(answer(*arguments, "--json"))
        expect_equal(bench["kv_file_bytes"], os.path.getsize(path))
        expect_equal(sorted(bench["runs"][1]), sorted(bench["runs"][0]))
        for key in ("save_seconds", "restore_seconds"):
            expect(bench[key] > 0 and bench["runs"][1][key] > 0, f"{key} is {bench[key]!r}")
        table = answer(*arguments)
        for pattern in (r"save +70 ", r"restore +70 ", r"KV file +[0-9.]+ KiB"):
            expect(re.search(pattern, table), f"{pattern} is not in {table}")
        expect_failure(g4("bench", "--restore", folder), 1, folder)


@test
def a_prepared_model_answers_the_same():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "demo.g4")
        expect_equal(answer("prepare", DEMO, path), f"wrote {path}\n")
        ask = ["-p", "the fox", "--greedy", "--max-tokens", "24"]
        expect_equal(answer("run", path, *ask), answer("run", DEMO, *ask))
        expect_equal(answer("tokenize", path, "-p", "the fox"), answer("tokenize", DEMO, "-p", "the fox"))
        differing = {"path"}
        prepared, plain = (json.loads(answer("info", "--json", name)) for name in (path, DEMO))
        expect_equal({key: value for key, value in prepared.items() if key not in differing},
                     {key: value for key, value in plain.items() if key not in differing})
        expect_failure(g4("prepare", path, path), 1, path, "is the model itself")
        expect_failure(g4("prepare", DEMO, os.path.join(folder, "no", "file")), 1, "no/file", "No such file")
        expect_failure(g4("prepare", DEMO, path, "--cpu", "abacus"), 1, "abacus")
        expect_failure(g4("prepare", DEMO), 2, "out")
        expect_equal(os.listdir(folder), ["demo.g4"])


@test
def version():
    expect(re.fullmatch(r"g4 \d+\.\d+\.\d+\n", answer("--version")), "g4 --version")


main()
