#!/usr/bin/env python3
"""bench/compare on the demo model: what it measures, prints and writes, with a stand-in for llama.cpp and without any."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import DEMO, TIMEOUT_SECONDS, answer, expect, expect_equal, main, program, source_path, test  # noqa: E402

sys.path.insert(0, source_path("bench"))
import engines  # noqa: E402
import gguf_file  # noqa: E402
import report  # noqa: E402

# Reads a prompt at 100 tokens/s, 400 with the layers cut out, and writes at 50.
STAND_IN = {
    "llama-bench": """#!/bin/sh
case "$*" in *"-p 0 "*) rate=50 ;; *) rate=${CUT_SHARED_LAYERS:+4}; rate=${rate:-1}00 ;; esac
echo "[{\\"avg_ts\\": $rate, \\"build_commit\\": \\"stand-in\\"}]"
""",
    "llama-completion": """#!/bin/sh
while [ $# -gt 0 ]; do
  if [ "$1" = --prompt-cache ]; then printf %1000s > "$2"; fi
  shift
done
""",
}


def compare(*arguments, **options):
    return subprocess.run([sys.executable, source_path("bench", "compare"), "--g4", program(), "--model", DEMO, "--threads", "1", *arguments],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT_SECONDS, check=False, **options)


def measured(*arguments):
    """The table and the object of a run that goes well."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "compare.json")
        result = compare("--json", path, "--dir", folder, *arguments)
        expect_equal(result.returncode, 0)
        with open(path, encoding="utf-8") as file:
            return result.stdout, json.load(file)


@test
def g4_alone():
    table, result = measured("--no-peer", "--rounds", "2")
    rows = {row["name"]: row for row in result["rows"]}
    for name in ("prefill_128", "prefill_512", "decode_0", "first_token_16", "first_token_saved_2000", "peak_memory", "restore_512",
                 "restore_2000", "restore_2000_file", "reading_2000", "one_session", "many_sessions", "ple_cold", "ple_warm", "open_prepared",
                 "first_token_prepared_16", "peak_memory_prepared", "decode_prepared"):
        expect(rows[name]["g4"] > 0 and rows[name]["whole"] is None, f"{name} is {rows[name]}")
        expect(re.search(rf"^{re.escape(rows[name]['label'])} +{rows[name]['unit']} +[0-9.e-]+$", table, re.MULTILINE), f"{name} is not in {table}")
    expect("prefill_2048" not in rows, "the demo model's context is 2048")
    expect_equal(len(result["samples"]["g4.prefill_512"]), 2)
    expect_equal([result["peer"], result["goals"], result["model"]["thread_count"], result["rounds"]], [None, [], 1, 2])
    for note in ("without llama.cpp: --no-peer", "left out: decode at depth 8192: the model's context is 2048"):
        expect(note in result["notes"] and f"note: {note}\n" in table, f"no note {note!r}")


@test
def beside_a_peer():
    with tempfile.TemporaryDirectory() as folder:
        for name, script in STAND_IN.items():
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(script)
            os.chmod(path, 0o755)
        table, result = measured("--peer", folder, "--quick")
    rows = {row["name"]: row for row in result["rows"]}
    expect_equal([(rows[name]["whole"], rows[name]["cut"]) for name in ("prefill_128", "prefill_512", "decode_0")],
                 [(100, 400), (100, 400), (50, None)])
    prefill, first = rows["prefill_512"], rows["first_token_16"]
    expect(abs(prefill["ratio_cut"] - prefill["g4"] / 400) < 1e-9 * prefill["g4"], "more tokens a second are better")
    expect(abs(first["ratio_whole"] - first["whole"] / first["g4"]) < 1e-9, "fewer seconds are better")
    expect_equal([rows["restore_512_file"]["whole"], result["peer"]], [0.001, {"name": "llama.cpp", "version": "stand-in"}])
    expect("beside llama.cpp stand-in" in table, table)


@test
def goals_are_those_of_e2b():
    class Engine:
        info = {"name": "n", "variant": "E2B", "quantisation": "Q4_0", "cpu": "generic", "thread_count": 2}
        model, version = DEMO, "g4 0"

    samples = {"g4.prefill_512": [150, 100, 210], "cut.prefill_512": [70, 80], "whole.prefill_512": [26], "g4.peak_memory": [1.6e9]}
    result = report.summary(samples, Engine, None, {"date": "", "rounds": 3, "command": "", "notes": []})
    expect_equal([(goal["what"], goal["value"], goal["met"]) for goal in result["goals"]],
                 [("prefill 512 against llama.cpp, cut", 2.0, True), ("prefill 512 against llama.cpp, whole", 150 / 26, False),
                  ("peak resident memory, MB", 1600, False)])
    expect("prefill 512 against llama.cpp, cut" in report.table(result), "no goals in the table")


@test
def without_a_peer_it_says_why():
    with tempfile.TemporaryDirectory() as folder:
        result = compare("--quick", "--dir", folder)
        expect_equal(result.returncode, 0)
        for text in (result.stdout, result.stderr):
            expect("without llama.cpp: --quick does not build it; bench/peer.py" in text, text)
        result = compare("--peer", folder)
        expect_equal([result.returncode, result.stdout, result.stderr],
                     [1, "", f"compare: --peer: {folder} does not hold llama-bench and llama-completion\n"])


@test
def what_fails_is_named():
    result = compare("--no-peer", "--model", "no-such-file.gguf")
    expect_equal([result.returncode, result.stdout], [1, ""])
    expect(re.fullmatch(r"compare: g4 ended with exit code 1: g4: [^\n]*no-such-file[^\n]*\n", result.stderr), result.stderr)
    result = compare("--no-peer", "--g4", "no-such-program")
    expect_equal(result.returncode, 1)
    expect(result.stderr.startswith("compare: ") and "no-such-program" in result.stderr, result.stderr)


@test
def interrupted_it_leaves_nothing_behind():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as kept:
        process = subprocess.Popen([sys.executable, source_path("bench", "compare"), "--g4", program(), "--model", DEMO, "--no-peer",
                                    "--dir", kept, "--rounds", "1000"], env={**os.environ, "TMPDIR": folder}, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not any("g4.kv" in names for _, _, names in os.walk(folder)):
            expect(time.monotonic() < deadline and process.poll() is None, "it does not get to work")
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=TIMEOUT_SECONDS)
        expect_equal([process.returncode, errors, os.listdir(folder)], [-signal.SIGINT, "\ncompare: interrupted\n", []])


@test
def the_time_is_limited():
    start = time.monotonic()
    for command in (["sleep", "60"], ["true"]):
        try:
            engines.run(command, start + 0.2)
            raise AssertionError(f"{command} was not ended")
        except engines.OutOfTime:
            pass
    expect(time.monotonic() - start < 30, "it was waited for")


@test
def a_tensor_is_found_in_its_file():
    info = json.loads(answer("info", "--json"))
    offset, size = gguf_file.find_tensor(DEMO, "per_layer_token_embd.weight")
    expect_equal(offset % 32, 0)
    expect(0 <= size - info["estimate"]["ple_disk_bytes"] < 32, f"{size} is not {info['estimate']['ple_disk_bytes']} bytes and padding")
    expect_equal(gguf_file.find_tensor(DEMO, "no.such.tensor"), None)


main()
