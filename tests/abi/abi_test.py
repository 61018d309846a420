#!/usr/bin/env python3
"""The C ABI: the header in both languages, the structs' layout, the exported symbols, and what libg4.so needs at run time."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import Skip, expect, expect_equal, main, program, source_path, test  # noqa: E402

BUILD = os.path.dirname(os.path.dirname(program()))
LIBRARY = os.path.join(BUILD, "libg4.so")
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only", "-I" + source_path("include")]
C99 = ["-x", "c", "-std=c99", "-Wstrict-prototypes", *STRICT]
CXX20 = ["-x", "c++", "-std=c++20", *STRICT]
HEADERS_TWICE = '#include "g4/g4.h"\n#include "g4/g4.h"\n'
# The C and C++ run-time libraries and the dynamic loader; pthread is its own library in older ones.
ALLOWED_NEEDS = r"(libc|libm|libstdc\+\+|libgcc_s|libpthread|ld-linux[-\w]*)\.so\.\d+"


def run(*command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    expect(result.returncode == 0, f"{' '.join(command)}\n{result.stdout}")
    return result.stdout


def compile_with(compiler, *arguments, text=None):
    if not shutil.which(compiler):
        raise Skip(f"no {compiler} here")
    run(compiler, *arguments, *(["-"] if text else []), input=text)


def names(text):
    return sorted(re.findall(r"\bg4_\w+", text))


def exports():
    with open(source_path("src", "capi", "g4.exports"), encoding="utf-8") as file:
        return file.read().split()


@test
def the_header_is_c99():
    compile_with("gcc", *C99, text=HEADERS_TWICE)


@test
def the_header_is_c99_for_clang():
    versions = ["clang", *(f"clang-{version}" for version in range(14, 25))]
    compile_with(next(filter(shutil.which, versions), "clang"), *C99, text=HEADERS_TWICE)


@test
def the_header_is_cxx20():
    compile_with("g++", *CXX20, text=HEADERS_TWICE)


@test
def option_structs_initialise_in_both_languages():
    use = HEADERS_TWICE + "g4_sampling f(void); g4_sampling f(void) { g4_sampling s = G4_INIT(g4_sampling); return s; }\n"
    compile_with("gcc", *C99, "-Wno-missing-field-initializers", text=use)
    compile_with("g++", *CXX20, text=use)


@test
def the_layout_is_that_of_abi_1():
    compile_with("gcc", *C99, source_path("tests", "abi", "layout.c"))
    compile_with("g++", *CXX20, source_path("tests", "abi", "layout.c"))


@test
def every_struct_is_in_the_layout_test():
    with open(source_path("include", "g4", "g4.h"), encoding="utf-8") as file:
        structs = re.findall(r"^typedef struct (\w+) \{", file.read(), re.MULTILINE)
    with open(source_path("tests", "abi", "layout.c"), encoding="utf-8") as file:
        expect_equal(sorted(re.findall(r"^SIZE\((\w+),", file.read(), re.MULTILINE)), sorted(structs))


@test
def the_export_list_is_what_the_header_declares():
    with open(source_path("include", "g4", "g4.h"), encoding="utf-8") as file:
        declared = re.findall(r"^G4_API [^;(]*?\b(g4_\w+)\(", file.read(), re.MULTILINE)
    expect_equal(exports(), sorted(declared))


@test
def the_library_exports_the_list_and_nothing_else():
    lines = run("nm", "--dynamic", "--defined-only", "--with-symbol-versions", LIBRARY).splitlines()
    symbols = sorted(line.split()[-1] for line in lines if " A " not in line)
    expect_equal(symbols, [name + "@@G4_1" for name in exports()])


@test
def the_library_needs_only_the_c_and_cxx_runtime():
    dynamic = run("readelf", "--dynamic", "--wide", LIBRARY)
    expect_equal(re.findall(r"\(SONAME\).*\[(.*)\]", dynamic), ["libg4.so.1"])
    for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        expect(re.fullmatch(ALLOWED_NEEDS, needed), f"libg4.so needs {needed}")
    expect("TEXTREL" not in dynamic, "libg4.so has relocations in its code")
    expect(not re.search(r"\((RPATH|RUNPATH)\)", dynamic), "libg4.so has a run path")


@test
def the_library_loads_and_tells_its_version():
    code = "import ctypes, sys; l = ctypes.CDLL(sys.argv[1]); l.g4_version.restype = ctypes.c_char_p;" \
           "print(l.g4_abi_version(), l.g4_version().decode())"
    expect(re.fullmatch(r"1 \d+\.\d+\.\d+\n", run(sys.executable, "-c", code, LIBRARY)), "versions")


main()
