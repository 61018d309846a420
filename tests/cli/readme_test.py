#!/usr/bin/env python3
"""README.md and docs tell the truth: their snippets are cut from the examples, which build and answer; their links lead somewhere."""
import os
import re
import subprocess
import tempfile

from harness import DEMO, TIMEOUT_SECONDS, expect, main, program, source_path, test

DOCUMENTS = ["README.md", *sorted(os.path.join("docs", name) for name in os.listdir(source_path("docs")) if name.endswith(".md"))]
KENYA = "What is the capital of Kenya?"


def read(*parts):
    with open(source_path(*parts), encoding="utf-8") as file:
        return file.read()


def build(folder, compiler, *arguments):
    """Compiles an example against the library that was built with g4, as a user would."""
    library = os.path.normpath(os.path.join(os.path.dirname(program()), ".."))
    example = os.path.join(folder, "example")
    subprocess.run([compiler, *arguments, "-Wall", "-Wextra", "-Werror", "-I" + source_path("include"), "-o", example,
                    "-L" + library, "-lg4", "-Wl,-rpath," + library], check=True, timeout=TIMEOUT_SECONDS)
    return example


def output(command, stdin=b""):
    return subprocess.run(command, input=stdin, stdout=subprocess.PIPE, check=True, timeout=TIMEOUT_SECONDS).stdout.decode()


@test
def snippets_are_cut_from_the_examples():
    for document in DOCUMENTS:
        snippets = re.findall(r"<!-- (\S+) -->\n```\w+\n(.*?)```", read(document), re.DOTALL)
        expect(len(snippets) > 0 or document != "README.md", "README.md has no snippet")
        for path, snippet in snippets:
            expect(snippet in read(path), f"a snippet of {document} is not in {path}")


@test
def the_c_example_builds_and_answers():
    with tempfile.TemporaryDirectory() as folder:
        example = build(folder, os.environ.get("CC", "cc"), "-std=c99", source_path("examples", "c", "generate.c"))
        expect("Nairobi" in output([example, DEMO, '[{"role": "user", "content": "%s"}]' % KENYA]), "no Nairobi")


@test
def the_cpp_example_builds_and_answers():
    with tempfile.TemporaryDirectory() as folder:
        example = build(folder, os.environ.get("CXX", "c++"), "-std=c++20", source_path("examples", "cpp", "chat.cc"))
        expect("Nairobi" in output([example, DEMO], f"{KENYA}\nAnd of Norway?\n".encode()), "no Nairobi")


@test
def links_and_commands_lead_somewhere():
    for document in DOCUMENTS:
        folder = os.path.dirname(document)
        words = re.sub(r"```.*?```", "", read(document), flags=re.DOTALL)
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", words):
            expect(os.path.exists(source_path(folder, link)), f"{document} links to {link}, which is not there")
    for command in re.findall(r"^\./(\w+)", read("README.md"), re.MULTILINE):
        expect(os.access(source_path(command), os.X_OK), f"./{command} cannot be run")
    presets = read("CMakePresets.json")
    for preset in re.findall(r"--preset (\w+)", read("README.md")):
        expect(f'"name": "{preset}"' in presets, f"there is no preset {preset}")


main()
