"""The types that users see hold, and the stub of the extension module says what is there."""

import pathlib
import subprocess
import sys

import pytest

import g4

PACKAGE = pathlib.Path(g4.__file__).parent
USE = """
import numpy as np
import g4
from typing_extensions import reveal_type
s = g4.Session()
reveal_type(s.prefill([1]))
reveal_type(s.prefill(np.array([1]), "none"))
reveal_type(s.chat("x", temperature=0.5))
reveal_type(s.chat("x", stream=True))
reveal_type(s.generate("x"))
reveal_type(next(s.generate(stream=True)))
s.chat("x", temperature="hot")
s.decode(tmperature=1)
s.prefill(5)
m = s.encode_image("x.png", budget=70)
reveal_type(m)
reveal_type(m.rows)
s.prefill(["x", m, [1]])
"""


@pytest.fixture(autouse=True)
def mypy():
    return pytest.importorskip("mypy")


def run(*command):
    result = subprocess.run([sys.executable, "-m", *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True)
    return result.returncode, result.stdout


def test_the_package_is_strictly_typed(tmp_path):
    code, output = run("mypy", "--strict", "--cache-dir", tmp_path, "-p", "g4")
    assert code == 0, output


def test_users_see_the_types(tmp_path):
    (tmp_path / "use.py").write_text(USE)
    _, output = run("mypy", "--strict", "--cache-dir", tmp_path, tmp_path / "use.py")
    revealed = [line.split('"')[1] for line in output.splitlines() if "Revealed type" in line]
    assert [kind.split(".")[-1] for kind in revealed[2:-1]] == ["Message", "Stream", "str", "Piece", "Media"], output
    assert "ndarray" in revealed[0] and revealed[1] == "None" and "ndarray" in revealed[-1], output
    errors = [line for line in output.splitlines() if "error:" in line]
    assert len(errors) == 3 and all(number in output for number in (":12:", ":13:", ":14:")), output


def test_the_stub_is_what_the_module_has(tmp_path):
    classes = tmp_path / "metaclass"  # is pybind11's own; members are looked at all the same
    classes.write_text(r"g4\._core\.Media\.__init__" "\n" r"g4\._core\.(Generation|Media|Sampling|SessionOptions|Session|Tokenizer)")
    code, output = run("mypy.stubtest", "g4._core", "--allowlist", classes)
    assert code == 0, output


def test_everything_public_is_documented():
    for name in g4.__all__:
        value = getattr(g4, name)
        assert value.__doc__, name
        for member in vars(value) if isinstance(value, type) else ():
            if not member.startswith("_") and callable(getattr(value, member)):
                assert getattr(value, member).__doc__, f"{name}.{member}"
