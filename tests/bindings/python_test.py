#!/usr/bin/env python3
"""The Python package as a user gets it: a fresh venv, pip install, pytest, with types, examples and the notebook."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv

SOURCE = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PACKAGE = os.path.join(SOURCE, "bindings", "python")
NEEDED = ["pytest", "mypy", "nbclient", "ipykernel", "matplotlib"]


def run(*command, **options):
    print("$", *command, flush=True)
    return subprocess.run(command, stdin=subprocess.DEVNULL, **options)


def closing_line(output):
    """pytest's last line in this repository's words."""
    counts = dict.fromkeys(("passed", "failed", "skipped"), 0)
    for number, word in re.findall(r"(\d+) (passed|failed|errors?|skipped)", output.strip().splitlines()[-1]):
        counts["failed" if word.startswith("error") else word] += int(number)
    return counts


def test_in(folder, build):
    """Installs into a venv in `folder` and tests there; pytest's result."""
    venv.create(folder, with_pip=True)
    python = os.path.join(folder, "bin", "python")
    # The build folder of the module stays, so that another run compiles only what has changed.
    options = ["--config-settings", f"build-dir={build}/python"]
    if shutil.which("ccache"):
        os.environ.setdefault("CMAKE_CXX_COMPILER_LAUNCHER", "ccache")
    run(python, "-m", "pip", "install", "--quiet", *options, PACKAGE + "[json,media]", *NEEDED, check=True)
    environment = {**os.environ, "G4_TEST_GOLDEN_DIR": os.path.join(build, "release", "golden")}
    return run(python, "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider", os.path.join(PACKAGE, "tests"),
               env=environment, cwd=folder, stdout=subprocess.PIPE, text=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} PATH_OF_G4")
    build = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "..", ".."))
    counts = {"passed": 0, "failed": 1, "skipped": 0}
    with tempfile.TemporaryDirectory() as folder:
        try:
            result = test_in(folder, build)
            print(result.stdout)
            counts = closing_line(result.stdout)
            if result.returncode != 0 and counts["failed"] == 0:
                counts["failed"] = 1
        except subprocess.CalledProcessError as error:
            print(f"FAILED: {error}")
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    sys.exit(1 if counts["failed"] else 0)


main()
