#!/usr/bin/env python3
"""What goes wrong is told in one line, with an exit code: 2 for a wrong command line, 1 for everything else."""
import os
import tempfile

from harness import DEMO, expect, expect_equal, expect_failure, g4, main, test

COMMANDS = {"run": ["-p", "Hello"], "chat": [], "info": [], "tokenize": ["-p", "Hello"], "bench": []}


@test
def a_file_that_is_not_there():
    for command, arguments in COMMANDS.items():
        expect_failure(g4(command, "/no/such/model.gguf", *arguments), 1, "/no/such/model.gguf")


@test
def a_file_that_is_no_model():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "notes.txt")
        for content in (b"", b"GGUF", b"These are notes, and long enough to hold a header.\n" * 10):
            with open(path, "wb") as file:
                file.write(content)
            for command, arguments in COMMANDS.items():
                expect_failure(g4(command, path, *arguments), 1)
        for command, arguments in COMMANDS.items():
            expect_failure(g4(command, folder, *arguments), 1)


@test
def a_truncated_model():
    with open(DEMO, "rb") as file:
        model = file.read()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "half.gguf")
        with open(path, "wb") as file:
            file.write(model[:len(model) // 2])
        for command in ("run", "info"):
            expect_failure(g4(command, path, *COMMANDS[command]), 1)


@test
def wrong_command_lines():
    expect_failure(g4(), 2, "--help")
    expect_failure(g4("sing"), 2, "sing")
    expect_failure(g4("run", "-p", "x", "--nonsense"), 2, "--nonsense", "g4 run --help")
    expect_failure(g4("run"), 2, "prompt")
    expect_failure(g4("run", "-p", ""), 2, "prompt")
    expect_failure(g4("run", DEMO, "surplus", "-p", "x"), 2, "surplus")
    expect_failure(g4("run", "--special", "-p", "x"), 2, "--raw")
    expect_failure(g4("tokenize", "-p", "x", "--decode", "1"), 2)
    for option, value in (("--top-p", "0"), ("--top-p", "much"), ("--top-k", "-1"), ("--repetition-penalty", "0"),
                          ("--threads", "0"), ("--threads", "many"), ("--context", "0"), ("--context", "-1"), ("--kv-type", "q4"),
                          ("--precision", "int4"), ("--max-tokens", "0"), ("--seed", "-1"), ("--seed", "18446744073709551616")):
        expect_failure(g4("run", "-p", "x", option, value), 2, option)


@test
def options_the_library_refuses():
    expect_failure(g4("run", "-p", "x", "--cpu", "quantum"), 1, "quantum")
    expect_failure(g4("run", "-p", "x", "--ple", "/no/such/table.gguf"), 1, "/no/such/table.gguf")
    for option, value in (("--min-p", "7"), ("--top-p", "1.5"), ("--top-p", "nan"), ("--temperature", "-1"),
                          ("--repetition-penalty", "-1")):
        expect_failure(g4("run", "-p", "x", option, value), 1, option[2:].replace("-", "_"))


@test
def text_that_is_not_utf8():
    expect_failure(g4("run", stdin=b"\xff\xfe"), 1, "UTF-8")


@test
def help_is_no_error():
    for command in COMMANDS:
        result = g4(command, "--help")
        expect_equal(result.returncode, 0)
        expect_equal(result.stderr, b"")
        expect(b"MODEL" in result.stdout, "no help")


main()
