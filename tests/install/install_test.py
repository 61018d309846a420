#!/usr/bin/env python3
"""An installed g4, moved to another place, works for the command line, CMake and pkg-config."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import Skip, expect, main, program, source_path, test  # noqa: E402

BUILD = os.path.dirname(os.path.dirname(program()))
KENYA = "What is the capital of Kenya?"
CONSUMER = source_path("tests", "install", "consumer")
scratch = tempfile.TemporaryDirectory()
PREFIX = os.path.join(scratch.name, "moved")


def run(*command, environment=None):
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, **(environment or {})})
    expect(result.returncode == 0, f"{' '.join(command)}\n{result.stdout}")
    return result.stdout


def library_folder():
    for folder, _, files in os.walk(PREFIX):
        if "libg4.so" in files:
            return folder
    raise AssertionError("no libg4.so is installed")


def with_pkg_config(compiler, *arguments):
    if not shutil.which("pkg-config"):
        raise Skip("no pkg-config here")
    flags = run("pkg-config", "--cflags", "--libs", "g4",
                environment={"PKG_CONFIG_PATH": os.path.join(library_folder(), "pkgconfig")}).split()
    result = os.path.join(scratch.name, "consumer")
    run(compiler, *arguments, "-Wall", "-Wextra", "-Werror", "-o", result, *flags)
    expect("g4 0." in run(result, environment={"LD_LIBRARY_PATH": library_folder()}), "version")


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
def the_examples_build_with_find_package():
    build = os.path.join(scratch.name, "examples")
    run("cmake", "-S", source_path("examples"), "-B", build, "-DCMAKE_PREFIX_PATH=" + PREFIX)
    run("cmake", "--build", build)
    model = os.path.join(PREFIX, "share", "g4", "g4-demo-q8_0.gguf")
    answer = run(os.path.join(build, "generate"), model, '[{"role": "user", "content": "%s"}]' % KENYA)
    expect("Nairobi" in answer, answer)


@test
def the_static_library_is_found_too():
    build = os.path.join(scratch.name, "static")
    run("cmake", "-S", CONSUMER, "-B", build, "-DCMAKE_PREFIX_PATH=" + PREFIX)
    run("cmake", "--build", build)
    expect("g4 0." in run(os.path.join(build, "consumer_static")), "version")


@test
def c_finds_it_with_pkg_config():
    with_pkg_config("gcc", "-std=c99", "-Wpedantic", os.path.join(CONSUMER, "consumer.c"))


@test
def cxx_finds_it_with_pkg_config():
    with_pkg_config("g++", "-std=c++20", "-x", "c++", os.path.join(CONSUMER, "consumer.c"), "-x", "none")


main()
