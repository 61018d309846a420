#!/usr/bin/env python3
"""g4 run: answers, prompts from everywhere, streams kept apart, Ctrl-C."""
import re
import subprocess

from harness import (DEMO, ENDLESS, InTerminal, answer, expect, expect_equal, expect_failure, g4, main, program,
                     test)

KENYA = "What is the capital of Kenya?"


@test
def answers_with_the_demo_model():
    expect("Nairobi" in answer("run", "-p", KENYA, "--greedy"), "no Nairobi")
    expect_equal(answer("run", DEMO, "-p", "What is 27 + 36?", "--greedy"), "27 + 36 = 63\n")


@test
def takes_the_prompt_that_is_piped_in():
    asked = answer("run", "-p", KENYA, "--greedy")
    expect_equal(answer("run", "--greedy", stdin=KENYA.encode() + b"\n"), asked)
    expect_equal(answer("run", "--greedy", "-p", "-", stdin=KENYA.encode()), asked)


@test
def notes_and_a_question():
    notes = "Here are my notes:\nSimon works as a driver.\nSimon is 63 years old.\nDavid has a rabbit called Rosa.\nHow old is Simon?"
    expect_equal(answer("run", "--greedy", stdin=notes.encode()), "Simon is 63 years old.\n")


@test
def a_system_message_is_evaluated():
    stats = g4("run", "-p", "Tell me a joke.", "--greedy", "--stats", "--system", "You are a helpful assistant.").stderr.decode()
    plain = g4("run", "-p", "Tell me a joke.", "--greedy", "--stats").stderr.decode()
    tokens = [int(re.search(r"prompt +(\d+) tokens", text).group(1)) for text in (stats, plain)]
    expect(tokens[0] > tokens[1], f"{tokens}")


@test
def raw_prompts_take_control_tokens_only_when_asked():
    prompt = f"<bos><|turn>user\n{KENYA}<turn|>\n<|turn>model\n<|channel>thought\n<channel|>"
    expect("Nairobi" in answer("run", "--raw", "--special", "--greedy", "-p", prompt), "no Nairobi")
    counts = []
    for special in ([], ["--special"]):
        stats = g4("run", "--raw", *special, "--greedy", "--max-tokens", "1", "--stats", "-p", prompt).stderr.decode()
        counts.append(int(re.search(r"prompt +(\d+) tokens", stats).group(1)))
    expect(counts[0] > counts[1] + 10, f"{counts}")


@test
def a_seed_fixes_the_text():
    story = ["run", "-p", "Tell me a story about a fox in a forest.", "--temperature", "1.5", "--top-k", "0", "--top-p", "1"]
    first = answer(*story, "--seed", "7")
    expect_equal(answer(*story, "--seed", "7"), first)
    others = {answer(*story, "--seed", str(seed)) for seed in range(8, 12)}
    expect(others != {first}, "the seed changes nothing")
    seed = re.search(r"seed +(\d+)", g4(*story, "--stats").stderr.decode()).group(1)
    expect(seed != re.search(r"seed +(\d+)", g4(*story, "--stats").stderr.decode()).group(1), "seeds are not random")


@test
def ends_where_told():
    story = ["run", "-p", "Tell me a story about a fox in a forest.", "--greedy"]
    whole = answer(*story)
    cut = answer(*story, "--max-tokens", "5")
    expect(whole.startswith(cut.rstrip("\n")) and len(cut) < len(whole), f"{cut!r}")
    stop = whole.split(".")[1].strip()
    expect_equal(answer(*story, "--stop", stop), whole[:whole.index(stop)].rstrip("\n") + "\n")


@test
def the_answer_alone_goes_to_standard_output():
    result = g4("run", "-p", KENYA, "--greedy", "--stats")
    expect_equal(result.stdout.decode(), answer("run", "-p", KENYA, "--greedy"))
    for word in ("prompt", "answer", "tokens/s", "memory", "seed"):
        expect(word in result.stderr.decode(), f"{word} is not in the statistics")
    expect(b"\x1b" not in result.stdout + result.stderr and b"\r" not in result.stderr, "escape codes outside a terminal")
    expect_equal(g4("run", "-p", KENYA, "--greedy").stderr, b"")


@test
def runs_the_same_however_it_runs():
    expected = answer("run", "-p", KENYA, "--greedy")
    for options in (["--threads", "2"], ["--threads", "2", "--pin"], ["--cpu", "generic"], ["--kv-type", "f32"], ["--precision", "f32"], ["--context", "200"],
                    ["--ple", DEMO], ["--ple-read"]):
        expect_equal(answer("run", "-p", KENYA, "--greedy", *options), expected)


@test
def a_prompt_longer_than_the_context_is_refused():
    expect_failure(g4("run", "-p", KENYA * 20, "--context", "64"), 1, "--context")


@test
def a_full_context_ends_the_answer():
    result = g4("run", "-p", "Hello!", *ENDLESS, "--context", "40")
    expect_equal(result.returncode, 0)
    expect("context is full" in result.stderr.decode(), result.stderr)


@test
def no_reader_ends_it_quietly():
    process = subprocess.Popen([program(), "run", "-p", "Tell me a story about a fox in a forest."], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, restore_signals=False)  # SIGPIPE stays ignored
    process.stdout.close()
    expect_equal(process.stderr.read(), b"")
    expect_equal(process.wait(), 141)


@test
def a_full_or_closed_output_is_an_error():
    with open("/dev/full", "wb") as full:
        result = subprocess.run([program(), "run", "-p", KENYA], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE)
    expect_equal(result.returncode, 1)
    expect(b"No space left" in result.stderr, result.stderr)
    result = subprocess.run(["sh", "-c", '"$0" run -p "$1" >&-', program(), KENYA], stderr=subprocess.PIPE)
    expect_equal(result.returncode, 1)
    expect(b"standard output" in result.stderr, result.stderr)
    result = subprocess.run(["sh", "-c", '"$0" run -p "$1" --greedy 2>&- <&-', program(), KENYA], stdout=subprocess.PIPE)
    expect_equal(result.returncode, 0)


@test
def control_c_stops_it():
    with InTerminal("run", "-p", "Hello!", *ENDLESS) as terminal:
        terminal.read_until("Hello")
        terminal.send("\x03")
        expect_equal(terminal.wait(), 130)


@test
def colour_and_control_characters():
    with InTerminal("run", "-p", KENYA, "--greedy", "--stats") as terminal:
        expect_equal(terminal.wait(), 0)
        expect("\x1b[2m" in terminal.output, "statistics are dimmed on a terminal")
    with InTerminal("run", "-p", KENYA, "--greedy", "--stats", environment={"NO_COLOR": "1"}) as terminal:
        expect_equal(terminal.wait(), 0)
        expect("\x1b" not in terminal.output, "NO_COLOR is not respected")
    with InTerminal("run", "/no/\x1b[31mmodel", "-p", "x", environment={"NO_COLOR": "1"}) as terminal:
        expect_equal(terminal.wait(), 1)
        expect("\x1b" not in terminal.output, "a name commands the terminal")


main()
