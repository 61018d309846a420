#!/usr/bin/env python3
"""An installed g4, moved to another place, works for the command line, CMake and pkg-config."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import Skip, expect, expect_equal, main, program, source_path, test  # noqa: E402

BUILD = os.path.dirname(os.path.dirname(program()))
KENYA = "What is the capital of Kenya?"
CONSUMER = source_path("tests", "install", "consumer")
scratch = tempfile.TemporaryDirectory()
PREFIX = os.path.join(scratch.name, "moved")


def read(*parts):
    with open(source_path(*parts), encoding="utf-8") as file:
        return file.read()


def run(*command, environment=None, stdin=None):
    result = subprocess.run(command, input=stdin or "", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, **(environment or {})})
    expect(result.returncode == 0, f"{' '.join(command)}\n{result.stdout}")
    return result.stdout


def library_folder():
    for folder, _, files in os.walk(PREFIX):
        if "libg4.so" in files:
            return folder
    raise AssertionError("no libg4.so is installed")


def with_pkg_config(name, compiler, *arguments):
    """Compiles a program with what pkg-config tells and returns its path."""
    if not shutil.which("pkg-config"):
        raise Skip("no pkg-config here")
    flags = run("pkg-config", "--cflags", "--libs", "g4",
                environment={"PKG_CONFIG_PATH": os.path.join(library_folder(), "pkgconfig")}).split()
    result = os.path.join(scratch.name, name)
    run(compiler, *arguments, "-Wall", "-Wextra", "-Wshadow", "-Werror", "-o", result, *flags, "-lm", "-pthread")
    return result


def answers(folder):
    """Runs each of the examples; they answer."""
    def answer(name, *arguments, stdin=None):
        return run(os.path.join(folder, name), *arguments, stdin=stdin, environment={"LD_LIBRARY_PATH": library_folder()})

    model = os.path.join(PREFIX, "share", "g4", "g4-demo-q8_0.gguf")
    expect("Nairobi" in answer("generate", model, '[{"role": "user", "content": "%s"}]' % KENYA), "generate")
    state = os.path.join(folder, "state.g4kv")
    fox = "Once upon a time there was a clever fox"
    expect("(0 of 11 tokens restored)" in answer("save_resume", model, state, fox), "save_resume, the first time")
    expect("(11 of 11 tokens restored)" in answer("save_resume", model, state, fox), "save_resume, the second time")
    words = (" Oslo", " Nairobi", " Paris")
    expect_equal([answer("choose", model, f"The capital of {country} is", *words).rstrip("\n") for country in
                  ("Norway", "Kenya", "France")], list(words))
    expect("Nairobi" in answer("chat", model, stdin=f"{KENYA}\nAnd of Norway?\n"), "chat")
    stories = answer("forks", model, fox, "3").split("\n\n")
    expect(len(set(stories)) == 4 and all(story.startswith(fox) for story in stories[:3]), stories)


@test
def it_installs_and_can_be_moved():
    run("cmake", "--install", BUILD, "--prefix", PREFIX + "-before")
    os.rename(PREFIX + "-before", PREFIX)
    for path in ("include/g4/g4.h", "include/g4/g4.hpp", "bin/g4", "share/g4/g4-demo-q8_0.gguf"):
        expect(os.path.isfile(os.path.join(PREFIX, path)), f"{path} is not installed")


@test
def the_installed_tool_answers_with_the_installed_model():
    expect("Nairobi" in run(os.path.join(PREFIX, "bin", "g4"), "run", "--greedy", "-p", KENYA), "no Nairobi")


@test
def the_examples_build_with_find_package_and_answer():
    build = os.path.join(scratch.name, "examples")
    run("cmake", "-S", source_path("examples"), "-B", build, "-DCMAKE_PREFIX_PATH=" + PREFIX)
    run("cmake", "--build", build)
    answers(build)


@test
def the_examples_build_with_pkg_config_and_answer():
    for name in ("generate", "save_resume", "choose"):
        with_pkg_config(name, "gcc", "-std=c99", "-Wpedantic", source_path("examples", "c", name + ".c"))
    for name in ("chat", "forks"):
        with_pkg_config(name, "g++", "-std=c++20", "-Wpedantic", source_path("examples", "cpp", name + ".cc"))
    answers(scratch.name)


@test
def every_example_is_built():
    listed = read("examples", "CMakeLists.txt")
    for path in glob.glob(source_path("examples", "c*", "*.c*")):
        expect(re.search(rf"\b{os.path.splitext(os.path.basename(path))[0]}\b", listed), f"{path} is not in examples/CMakeLists.txt")


@test
def the_static_library_is_found_too():
    build = os.path.join(scratch.name, "static")
    run("cmake", "-S", CONSUMER, "-B", build, "-DCMAKE_PREFIX_PATH=" + PREFIX)
    run("cmake", "--build", build)
    expect("g4 0." in run(os.path.join(build, "consumer_static")), "version")


@test
def c_as_cxx_finds_it_with_pkg_config():
    consumer = with_pkg_config("consumer", "g++", "-std=c++20", "-x", "c++", os.path.join(CONSUMER, "consumer.c"), "-x", "none")
    expect("g4 0." in run(consumer, environment={"LD_LIBRARY_PATH": library_folder()}), "version")


main()
