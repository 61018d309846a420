#!/usr/bin/env python3
"""The Rust crates against the library that was built: declarations, the safe interface on the demo model, the example."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import DEMO, Skip, expect, expect_equal, main, program, source_path, test  # noqa: E402

BUILD = os.path.dirname(os.path.dirname(program()))
KENYA = '[{"role": "user", "content": "What is the capital of Kenya?"}]'
ENVIRONMENT = {**os.environ, "G4_LIB_DIR": BUILD, "LD_LIBRARY_PATH": BUILD, "CARGO_TARGET_DIR": os.path.join(BUILD, "rust")}


def run(*command, folder="bindings/rust", environment=None):
    if not shutil.which(command[0]):
        raise Skip(f"no {command[0]} here")
    result = subprocess.run(command, cwd=source_path(folder), env={**ENVIRONMENT, **(environment or {})}, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    expect(result.returncode == 0, f"{' '.join(command)}\n{result.stdout}")
    return result.stdout


@test
def cargo_test_passes():
    output = run("cargo", "test", "--offline", environment={"RUSTFLAGS": "-D warnings"})
    passed = sum(int(count) for count in re.findall(r"^test result: ok\. (\d+) passed; 0 failed", output, re.MULTILINE))
    expect(passed >= 20, output)
    print(f"note: cargo test: {passed} passed")


@test
def the_example_answers():
    output = run("cargo", "run", "--offline", "--quiet", "--", DEMO, KENYA, folder="examples/rust",
                 environment={"RUSTFLAGS": "-D warnings"})
    expect("Nairobi" in output, output)


@test
def clippy_is_content():
    if shutil.which("cargo") and subprocess.run(["cargo", "clippy", "--version"], capture_output=True).returncode != 0:
        raise Skip("no clippy here")
    run("cargo", "clippy", "--offline", "--all-targets", "--", "-D", "warnings")


@test
def without_the_library_the_build_says_what_to_do():
    if not shutil.which("cargo"):
        raise Skip("no cargo here")
    environment = {key: value for key, value in ENVIRONMENT.items() if key != "G4_LIB_DIR"}
    environment |= {"PKG_CONFIG_LIBDIR": "/nowhere", "PKG_CONFIG_PATH": "", "CARGO_TARGET_DIR": os.path.join(BUILD, "rust-without")}
    result = subprocess.run(["cargo", "check", "--offline", "-p", "g4-sys"], cwd=source_path("bindings", "rust"), env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    expect(result.returncode != 0 and "G4_LIB_DIR" in result.stdout and "pkg-config" in result.stdout, result.stdout)


@test
def versions_agree():
    with open(source_path("CMakeLists.txt"), encoding="utf-8") as file:
        version = re.search(r"^project\(g4 VERSION (\S+)", file.read(), re.MULTILINE)[1]
    for crate in ("g4-sys", "g4"):
        with open(source_path("bindings", "rust", crate, "Cargo.toml"), encoding="utf-8") as file:
            expect_equal(re.findall(r'^version = "(.*)"', file.read(), re.MULTILINE), [version])


main()
