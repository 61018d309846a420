"""What the tests of the command line tool share: running it, running it under a terminal, counting.

Each test file is called with the path of the g4 program and ends with the line `N passed, N failed, N skipped`.
"""
import errno
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import traceback

TIMEOUT_SECONDS = 60

_tests = []


class Skip(Exception):
    """Raised by a test that cannot run here; its text says why."""


def test(function):
    """Registers a test."""
    _tests.append(function)
    return function


def main():
    """Runs the registered tests and exits."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for function in _tests:
        try:
            function()
            counts["passed"] += 1
        except Skip as skip:
            counts["skipped"] += 1
            print(f"skipped {function.__name__}: {skip}")
        except Exception:
            counts["failed"] += 1
            print(f"FAILED {function.__name__}")
            traceback.print_exc(file=sys.stdout)
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    sys.exit(1 if counts["failed"] else 0)


def program():
    """The g4 program under test."""
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} PATH_OF_G4")
    return os.path.abspath(sys.argv[1])


def source_path(*parts):
    """A path in the source tree."""
    return os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", *parts))


DEMO = source_path("examples", "models", "g4-demo-q8_0.gguf")


def reference_model(*parts):
    """A file of the reference models that the build has unpacked."""
    path = os.path.join(os.path.dirname(program()), "..", "golden", *parts)
    if not os.path.exists(path):
        raise Skip(f"no reference model at {path}")
    return path


# Each use of a token makes it more likely: the first word again and again until the context is full.
ENDLESS = ["--greedy", "--frequency-penalty", "-100"]


def g4(*arguments, stdin=None, environment=None, **options):
    """Runs g4 to its end: an object with returncode, stdout and stderr as bytes."""
    return subprocess.run([program(), *arguments], input=b"" if stdin is None else stdin, capture_output=True,
                          timeout=TIMEOUT_SECONDS, env={**os.environ, **(environment or {})}, **options)


def answer(*arguments, **options):
    """The text that g4 writes to standard output, when all goes well."""
    result = g4(*arguments, **options)
    expect(result.returncode == 0, f"exit code {result.returncode}: {result.stderr.decode()}")
    return result.stdout.decode()


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


def expect_equal(actual, expected):
    expect(actual == expected, f"\n  got      {actual!r}\n  expected {expected!r}")


def expect_failure(result, exit_code, *words):
    """One line on standard error that begins with g4: and holds the words, and nothing on standard output."""
    stderr = result.stderr.decode()
    expect_equal(result.returncode, exit_code)
    expect_equal(result.stdout, b"")
    expect(re.fullmatch(r"g4: [^\n]+\n", stderr), f"not one line: {stderr!r}")
    for word in words:
        expect(word in stderr, f"{word!r} is not in {stderr!r}")


class InTerminal:
    """g4 in a terminal of its own, as a person would use it."""

    def __init__(self, *arguments, environment=None):
        self.output = ""
        self._searched = 0
        self.process_id, self._terminal = pty.fork()
        if self.process_id == 0:
            try:
                os.execve(program(), [program(), *arguments], {**os.environ, "TERM": "xterm-256color", **(environment or {})})
            finally:
                os._exit(127)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process_id:
            os.kill(self.process_id, signal.SIGKILL)
            os.waitpid(self.process_id, 0)
        os.close(self._terminal)

    def send(self, text):
        os.write(self._terminal, text.encode())

    def read_until(self, pattern):
        """Waits for the pattern in what comes after the last match and returns that match."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while True:
            match = re.compile(pattern).search(self.output, self._searched)
            if match:
                self._searched = match.end()
                return match
            if not self._read(deadline):
                raise AssertionError(f"{pattern!r} did not come; the terminal shows {self.output[self._searched:]!r}")

    def wait(self):
        """Reads to the end and returns the exit code, 128 + N after signal N, as shells do."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while self._read(deadline):
            pass
        _, status = os.waitpid(self.process_id, 0)
        self.process_id = 0
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)

    def _read(self, deadline):
        ready, _, _ = select.select([self._terminal], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            raise AssertionError(f"nothing came for {TIMEOUT_SECONDS} s after {self.output[-200:]!r}")
        try:
            data = os.read(self._terminal, 65536)
        except OSError as error:
            if error.errno != errno.EIO:  # the program has gone
                raise
            data = b""
        self.output += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)
