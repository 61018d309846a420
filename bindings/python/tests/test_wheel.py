"""What is in the package: the module stands alone, nothing of the library inside it can be seen from outside."""

import re
import shutil
import subprocess

import pytest

import g4

# The C library, the dynamic loader and, where Abseil is compiled as it should be, the C++ library.
ALLOWED_NEEDS = r"(libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|librt|ld-linux[-\w]*)\.so\.\d+"


def output(*command):
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]} here")
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def test_only_the_init_function_leaves_the_module():
    lines = output("nm", "--dynamic", "--defined-only", g4._core.__file__).splitlines()
    assert [line.split()[-1] for line in lines] == ["PyInit__core"]


def test_the_module_needs_nothing_of_where_it_was_built():
    dynamic = output("readelf", "--dynamic", "--wide", g4._core.__file__)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert needed and all(re.fullmatch(ALLOWED_NEEDS, name) for name in needed), needed
    assert not re.search(r"\((RPATH|RUNPATH|TEXTREL)\)", dynamic)


def test_it_comes_with_types_and_a_model():
    import importlib.resources as resources

    files = {file.name for file in resources.files("g4").iterdir()}
    assert {"py.typed", "_core.pyi", "g4-demo-q8_0.gguf", "mmproj-g4-demo-bf16.gguf"} <= files
    assert not {name for name in files if name.endswith((".cc", ".h", ".txt", ".toml"))}


def test_other_pybind11_modules_are_no_trouble():
    """Failures cross no module borders: an exception of this module is translated by this module."""
    with pytest.raises(g4.FileError):
        g4._core.probe_kv(b"/nowhere")
