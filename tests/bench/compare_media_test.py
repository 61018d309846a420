#!/usr/bin/env python3
"""bench/compare_media with stand-ins for both engines: what it prints and writes, and that it wants the same tokens of both."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import TIMEOUT_SECONDS, expect, expect_equal, main, source_path, test  # noqa: E402

OUTPUT = '{{"picture": {{"tokens": {tokens}, "seconds": [{seconds}, 9], "processor_seconds": [8, 7]}}, ' \
         '"sound": {{"tokens": 250, "seconds": [1, 2], "processor_seconds": [3, 4]}}}}'


def compare(folder, peer_tokens=256):
    """Runs it for files that are there already."""
    for name, tokens, seconds in (("g4", 256, 2), ("peer", peer_tokens, 5)):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho \"$@\" >> {path}.calls\necho '{OUTPUT.format(tokens=tokens, seconds=seconds)}'\n")
        os.chmod(path, 0o755)
    for kind in ("f16", "q8_0"):
        open(os.path.join(folder, f"synthetic-mmproj-{kind}.gguf"), "wb").close()
    return subprocess.run([sys.executable, source_path("bench", "compare_media"), "--g4", os.path.join(folder, "g4"), "--peer",
                           os.path.join(folder, "peer"), "--dir", folder, "--threads", "3", "--rounds", "2", "--json",
                           os.path.join(folder, "out.json")], capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)


@test
def both_in_turns_and_the_least_counts():
    with tempfile.TemporaryDirectory() as folder:
        result = compare(folder)
        expect_equal(result.returncode, 0)
        with open(os.path.join(folder, "out.json"), encoding="utf-8") as file:
            rows = json.load(file)["rows"]
        calls = {name: open(os.path.join(folder, name + ".calls"), encoding="utf-8").read().splitlines() for name in ("g4", "peer")}
    expect_equal([(row["type"], row["what"]) for row in rows], [(kind, what) for kind in ("F16", "Q8_0") for what in ("picture", "sound")])
    expect_equal((rows[0]["tokens"], rows[0]["seconds"], rows[0]["met"]), (256, {"g4": 2, "llama.cpp": 5, "ratio": 2.5}, True))
    expect_equal((rows[1]["seconds"]["ratio"], rows[1]["met"]), (1, False))
    expect_equal(rows[0]["samples"]["g4"]["seconds"], [2, 9, 2, 9])
    expect_equal([len(calls["g4"]), len(calls["peer"])], [4, 4])  # two rounds, two files
    expect(all(call.endswith(" 3 2") for name in calls for call in calls[name]), "both take the same threads and repeats")
    expect("| picture, F16 | 256 | 2.00 | 5.00 | 2.50 | 7.00 | 7.00 | 1.00 |" in result.stdout, result.stdout)


@test
def other_tokens_end_it():
    with tempfile.TemporaryDirectory() as folder:
        result = compare(folder, peer_tokens=255)
        expect_equal(result.returncode, 1)
        expect("picture: the engines made different numbers of tokens: [255, 256]" in result.stderr, result.stderr)


@test
def a_file_of_the_released_sizes():
    sys.path.insert(0, source_path("bench"))
    import gguf_file
    import synthetic_mmproj
    writer = gguf_file.Writer()
    towers = synthetic_mmproj.Towers(writer, "Q8_0")
    synthetic_mmproj.add_vision(writer, towers, 64)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "vision.gguf")
        writer.write(path)
        expect_equal(gguf_file.find_tensor(path, "v.blk.15.ffn_down.weight")[1], 768 * 3072 // 32 * 34)
        expect(gguf_file.find_tensor(path, "v.blk.16.ffn_down.weight") is None, "there are 16 layers")


main()
