#!/usr/bin/env python3
"""g4 chat: history, commands, Ctrl-C, terminals and pipes."""
import re

from harness import ENDLESS, InTerminal, answer, expect, expect_equal, g4, main, test

PROMPT = r"> (\x1b\[0m)?$"


def talk(*lines, options=()):
    """What is answered to lines piped in."""
    return answer("chat", "--greedy", *options, stdin="".join(line + "\n" for line in lines).encode())


@test
def later_questions_lean_on_earlier_ones():
    expect_equal(talk("What is the capital of Spain?", "And of Norway?"),
                 "The capital of Spain is Madrid.\nThe capital of Norway is Oslo.\n")


@test
def history_is_the_same_as_evaluating_anew():
    notes = "Here are my notes:\\\nSimon is 63 years old.\\\nDavid has a rabbit called Rosa.\\\nHow old is Simon?"
    expect_equal(talk(notes, "Which pet does David have?"), "Simon is 63 years old.\nDavid has a rabbit called Rosa.\n")


@test
def an_answer_longer_than_the_window_can_be_followed():
    lines = talk("Tell me a story about a fox in a forest.", "What is the capital of Spain?", "And of Norway?").splitlines()
    expect_equal(lines[-1], "The capital of Norway is Oslo.")


@test
def what_the_session_holds_is_not_evaluated_again():
    result = g4("chat", "--greedy", "--stats", stdin=b"What is the capital of Spain?\nAnd of Norway?\n")
    prompts, answers, positions = ([int(number) for number in re.findall(pattern, result.stderr.decode())]
                                   for pattern in (r"prompt +(\d+) ", r"answer +(\d+) ", r"context +(\d+) "))
    expect_equal(positions[0], prompts[0] + answers[0])
    held = positions[1] - prompts[1] - answers[1]
    expect(held >= prompts[0] // 2, f"only {held} tokens were kept of a prompt of {prompts[0]}")


@test
def reset_forgets():
    spoken = talk("What is the capital of Spain?", "/reset", "And of Norway?")
    expect_equal(talk("And of Norway?"), spoken.split("\n", 1)[1])


@test
def only_answers_go_to_standard_output():
    result = g4("chat", "--greedy", stdin=b"What is 8 + 5?\n/stats\n/help\n/nonsense\n\n/system Be kind.\n/system\nHello!")
    expect_equal(result.stdout.decode(), "8 + 5 = 13\nHello! How can I help you?\n")
    expect_equal(result.returncode, 0)
    for word in ("tokens/s", "/reset", "no command /nonsense"):
        expect(word in result.stderr.decode(), f"{word} is not on standard error")
    expect(b"\x1b" not in result.stderr and b"> " not in result.stderr, "a prompt without a person")


@test
def an_error_does_not_end_the_conversation():
    result = g4("chat", "--greedy", "--context", "100",
                stdin=("x" * 500).encode() + b"\n\xff\xff\n/system \xff\nWhat is the capital of Spain?\n/quit\nHello!\n")
    expect_equal(result.stdout.decode(), "The capital of Spain is Madrid.\n")
    expect_equal(result.returncode, 0)
    expect("--context" in result.stderr.decode() and "UTF-8" in result.stderr.decode(), result.stderr)


@test
def in_a_terminal():
    with InTerminal("chat", "--greedy") as terminal:
        terminal.read_until(PROMPT)
        terminal.send("What is the capital of Kenya?\n")
        terminal.read_until("is Nairobi\\.\n")
        terminal.read_until(PROMPT)
        terminal.send("one \\\n")
        terminal.read_until(r"\.\.\. ")
        terminal.send("two\n")
        terminal.read_until(PROMPT)
        terminal.send("\x04")
        expect_equal(terminal.wait(), 0)


@test
def control_c_stops_the_answer_and_not_the_program():
    with InTerminal("chat", *ENDLESS) as terminal:
        for _ in range(3):
            terminal.read_until(PROMPT)
            terminal.send("Who are you?\n")
            terminal.read_until(r"\?\n\w")
            terminal.send("\x03")
            terminal.read_until(r"\(stopped\)")
        terminal.read_until(PROMPT)
        terminal.send("/quit\n")
        expect_equal(terminal.wait(), 0)


@test
def control_c_twice_at_the_prompt_leaves():
    with InTerminal("chat", "--greedy") as terminal:
        terminal.read_until(PROMPT)
        terminal.send("half a line\x03")
        terminal.read_until("Ctrl-C again")
        terminal.read_until(PROMPT)
        terminal.send("What is 8 + 5?\n")  # once is forgiven when a line follows, and the half line is gone
        terminal.read_until("8 \\+ 5 = 13\n")
        terminal.read_until(PROMPT)
        terminal.send("\x03")
        terminal.read_until("Ctrl-C again")
        terminal.read_until(PROMPT)
        terminal.send("\x03")
        expect_equal(terminal.wait(), 0)


main()
