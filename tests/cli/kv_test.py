#!/usr/bin/env python3
"""g4 run with KV files: saved in one process, used in another, refused where they do not fit."""
import os
import re
import tempfile
import threading
import time

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
def every_model_and_type_goes_on_in_another_process():
    """Prompts from shorter than the window of 16 to far longer, 64 tokens after it."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "state.g4kv")
        for name in "e2b-tiny", "e4b-tiny", "dense31b-tiny", "moe26b-tiny":
            model = reference_model("tiny", name, "model.gguf")
            for kv_type in "f16", "f32", "q8_0":
                for words in 4, 8, 60:
                    command = ["run", model, "--raw", "--greedy", "--max-tokens", "64", "--kv-type", kv_type,
                               "-p", " ".join(f"w{i}" for i in range(words))]
                    plain, _ = run(*command, "--save-kv", file)
                    loaded, text = run(*command, "--load-kv", file, "--stats")
                    expect_equal(loaded, plain)
                    expect_equal(evaluated(text), 0)


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
def a_cache_folder_is_shared_by_prompts_and_processes():
    fox = ["run", "--greedy", "-p", "Tell me a story about a fox in a forest."]
    plain, plain_fox = run(*STORY)[0], run(*fox)[0]
    with tempfile.TemporaryDirectory() as parent:
        folder = os.path.join(parent, "states")
        for _ in range(2):
            expect_equal(run(*STORY, "--cache-dir", folder)[0], plain)
            expect_equal(run(*fox, "--cache-dir", folder)[0], plain_fox)
        expect_equal(len(os.listdir(folder)), 2)
        expect_equal(os.stat(folder).st_mode & 0o777, 0o700)
        out, text = run(*STORY, "--cache-dir", folder, "--stats")
        expect_equal(out, plain)
        expect_equal(evaluated(text), 0)
        expect("26 of 26 prompt tokens reused" in text, text)
        run(*STORY, "--cache-dir", folder, "--cache-limit", "1KB")
        expect_equal(os.listdir(folder), [])
        expect_failure(g4(*STORY, "--cache-limit", "1KB"), 2, "--cache-dir")


@test
def chat_takes_its_prompts_from_a_cache_folder():
    lines = b"Tell me a story about a dragon in a library.\nHow does it end?\n"
    with tempfile.TemporaryDirectory() as folder:
        first = g4("chat", "--greedy", "--cache-dir", folder, "--stats", stdin=lines)
        second = g4("chat", "--greedy", "--cache-dir", folder, "--stats", stdin=lines)
        expect_equal(first.stdout, g4("chat", "--greedy", stdin=lines).stdout)
        expect_equal(second.stdout, first.stdout)
        expect("26 of 26 prompt tokens reused" in second.stderr.decode(), second.stderr)
        expect_equal(len(os.listdir(folder)), 2)


@test
def two_processes_on_one_folder_never_read_damage():
    """Each writes, reads and evicts what the other does, all the time."""
    prompts = ["Tell me a story about a dragon in a library.", "Tell me a story about a fox in a forest.",
               "What is the capital of Kenya?", "How many legs has a cat?"]
    plain = {prompt: run("run", "--greedy", "--max-tokens", "4", "-p", prompt)[0] for prompt in prompts}
    end = time.monotonic() + float(os.environ.get("G4_CACHE_TEST_SECONDS", "60"))
    runs, problems = [0, 0], []

    def work(me):
        while time.monotonic() < end and not problems:
            prompt = prompts[(runs[me] * (me + 1)) % len(prompts)]
            result = g4("run", "--greedy", "--max-tokens", "4", "-p", prompt, "--cache-dir", folder, "--cache-limit", "150KB")
            text = result.stderr.decode()
            if result.returncode != 0 or result.stdout != plain[prompt] or "not a usable" in text or "checksum" in text:
                problems.append(f"{prompt}: {result}")
            runs[me] += 1

    with tempfile.TemporaryDirectory() as folder:
        workers = [threading.Thread(target=work, args=(me,)) for me in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        expect(not problems, "\n".join(problems))
        expect(min(runs) > 10, f"runs: {runs}")
        sizes = [os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)]
        expect(sum(sizes) < 300_000, f"sizes: {sizes}")


@test
def a_file_of_another_model_or_type_is_refused():
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "prompt.g4kv")
        run(*STORY, "--save-kv", file)
        for kv_type in "f32", "q8_0":
            expect_failure(g4(*STORY, "--load-kv", file, "--kv-type", kv_type), 1, "f16")
        expect_failure(g4("run", reference_model("demo", "g4-demo-f32.gguf"), *STORY[1:], "--load-kv", file), 1,
                       "another model")
        expect_failure(g4(*STORY, "--load-kv", os.path.join(folder, "nothing")), 1, "nothing")
        expect_failure(g4(*STORY, "--save-kv", folder), 1, folder)


if __name__ == "__main__":
    main()
