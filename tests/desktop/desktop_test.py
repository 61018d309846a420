#!/usr/bin/env python3
"""The desktop example, built against an installed g4 and used under a virtual screen. Pictures are left in build/*/screenshots."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import DEMO, Skip, expect, main, program, source_path, test  # noqa: E402

BUILD = os.path.dirname(os.path.dirname(program()))
PICTURES = os.path.join(BUILD, "screenshots")
WARNINGS = "-Wall -Wextra -Wpedantic -Wshadow -Werror"
scratch = tempfile.TemporaryDirectory()
PREFIX, WINDOW = os.path.join(scratch.name, "prefix"), os.path.join(BUILD, "desktop")


def run(*command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    expect(result.returncode == 0, f"{' '.join(command)}\n{result.stdout}")
    return result.stdout


class Screen:
    """A virtual screen of its own."""

    def __enter__(self):
        if not shutil.which("Xvfb"):
            raise Skip("no Xvfb here")
        numbers, write = os.pipe()
        self._server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x900x24", "-nolisten", "tcp"],
                                        pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(numbers) as file:
            number = file.readline().strip()
        expect(number, "Xvfb does not start")
        return ":" + number

    def __exit__(self, *_):
        self._server.terminate()
        self._server.wait()


@test
def it_builds_with_an_installed_g4():
    if subprocess.run(["pkg-config", "--exists", "Qt6Widgets"], check=False).returncode != 0:
        raise Skip("no Qt 6 here: package qt6-base-dev")
    run("cmake", "--install", BUILD, "--prefix", PREFIX)
    run("cmake", "-S", source_path("tests", "desktop"), "-B", WINDOW, "-G", "Ninja", "-DCMAKE_PREFIX_PATH=" + PREFIX,
        "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS=" + WARNINGS)
    run("cmake", "--build", WINDOW)


@test
def a_person_can_use_it():
    test_program = os.path.join(WINDOW, "use_chat_window")
    if not os.path.exists(test_program):
        raise Skip("it was not built")
    os.makedirs(PICTURES, exist_ok=True)
    with Screen() as display:
        output = run(test_program, env={**os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "QTEST_FUNCTION_TIMEOUT": "900000", "LANG": "C.UTF-8",
                                        "G4_MODEL": DEMO, "G4_SCREENSHOTS": PICTURES, "XDG_RUNTIME_DIR": scratch.name})
    passed = int(re.search(r"^Totals: (\d+) passed, 0 failed, 0 skipped", output, re.MULTILINE)[1])
    expect(passed >= 9, output)
    pictures = {name for name in os.listdir(PICTURES) if name.endswith(".png")}
    expect({"light.png", "dark.png", "narrow.png", "error.png"} <= pictures, f"there are only {pictures}")
    print(f"note: chat window: {passed} passed")


main()
