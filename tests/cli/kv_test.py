#!/usr/bin/env python3
"""g4 run with KV files: saved in one process, used in another, refused where they do not fit."""
import os
import re
import tempfile

from harness import DEMO, expect, expect_equal, expect_failure, g4, main, reference_model, test

STORY = ["run", "--greedy", "-p", "Tell me a story about a dragon in a library."]


def run(*arguments):
    result = g4(*arguments)
    expect_equal(result.returncode, 0)
    return result.stdout, result.stderr.decode()


def evaluated(text):
    return int(re.search(r"prompt +(\d+) tokens", text).group(1))


@test
def another_process_goes_on_from_a_saved_prompt():
    plain, _ = run(*STORY)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "prompt.g4kv")
        saved, _ = run(*STORY, "--save-kv", file)
        expect_equal(saved, plain)
        loaded, text = run(*STORY, "--load-kv", file, "--stats")
        expect_equal(loaded, plain)
        expect_equal(evaluated(text), 0)
        expect("26 of 26 prompt tokens reused" in text, text)
        other, text = run("run", "--greedy", "-p", "Tell me a story about a fox in a forest.", "--load-kv", file, "--stats")
        expect_equal(other, run("run", "--greedy", "-p", "Tell me a story about a fox in a forest.")[0])
        expect(0 < evaluated(text) < 26, text)
        expect_equal(os.listdir(folder), ["prompt.g4kv"])


@test
def a_cache_is_written_once_and_then_used():
    plain, _ = run(*STORY)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "cache.g4kv")
        first, text = run(*STORY, "--cache", file, "--stats")
        expect_equal(first, plain)
        expect("reused)" not in text, text)
        written = os.stat(file)
        second, text = run(*STORY, "--cache", file, "--stats")
        expect_equal(second, plain)
        expect_equal(evaluated(text), 0)
        expect_equal(os.stat(file).st_mtime_ns, written.st_mtime_ns)
        with open(file, "r+b") as damaged:  # then it is written anew
            damaged.seek(5000)
            damaged.write(b"\xff\xff\xff\xff")
        third, text = run(*STORY, "--cache", file)
        expect_equal(third, plain)
        expect("written anew" in text, text)
        expect_equal(run(*STORY, "--cache", file)[0], plain)


@test
def a_file_of_another_model_or_type_is_refused():
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "prompt.g4kv")
        run(*STORY, "--save-kv", file)
        expect_failure(g4(*STORY, "--load-kv", file, "--kv-type", "f32"), 1, "f16")
        expect_failure(g4("run", reference_model("demo", "g4-demo-f32.gguf"), *STORY[1:], "--load-kv", file), 1,
                       "another model")
        expect_failure(g4(*STORY, "--load-kv", os.path.join(folder, "nothing")), 1, "nothing")
        expect_failure(g4(*STORY, "--save-kv", folder), 1, folder)


if __name__ == "__main__":
    main()
