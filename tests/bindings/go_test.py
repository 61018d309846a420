#!/usr/bin/env python3
"""The Go package against an installed g4: vet, tests on the demo model, the example."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import DEMO, Skip, expect, main, program, source_path, test  # noqa: E402

BUILD = os.path.dirname(os.path.dirname(program()))
KENYA = '[{"role": "user", "content": "What is the capital of Kenya?"}]'
# Both stay: Go's cache does not notice when pkg-config names another folder.
CACHE, PREFIX = os.path.join(BUILD, "go-cache"), os.path.join(BUILD, "go-prefix")


def run(*command, environment=None, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, **(environment or {})}, **options)
    expect(result.returncode == 0, f"{' '.join(command)}\n{result.stdout}")
    return result.stdout


def installed():
    """The folder of libg4.so of an installed g4."""
    run("cmake", "--install", BUILD, "--prefix", PREFIX)
    return next(folder for folder, _, files in os.walk(PREFIX) if "libg4.so" in files)


def go(*arguments, folder="bindings/go"):
    if not shutil.which("go"):
        raise Skip("no go here")
    library = installed()
    return run("go", *arguments, cwd=source_path(folder), environment={
        "PKG_CONFIG_PATH": os.path.join(library, "pkgconfig"), "LD_LIBRARY_PATH": library, "GOCACHE": CACHE, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod",
        "GOPROXY": "off", "CGO_ENABLED": "1"})


@test
def the_code_is_formatted():
    if not shutil.which("gofmt"):
        raise Skip("no gofmt here")
    expect(run("gofmt", "-l", source_path("bindings", "go"), source_path("examples", "go")) == "", "gofmt would change files")


@test
def vet_is_content():
    go("vet", "./...")
    go("vet", "./...", folder="examples/go")


@test
def go_test_passes():
    output = go("test", "-count=1", "-v", ".")
    passed = output.count("--- PASS:")
    expect(passed >= 10, output)
    print(f"note: go test: {passed} passed")


@test
def the_example_answers():
    expect("Nairobi" in go("run", ".", DEMO, KENYA, folder="examples/go"), "no Nairobi")


main()
