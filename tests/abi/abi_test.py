#!/usr/bin/env python3
"""The C ABI: the header in both languages, the structs' layout, the exported symbols, and what libg4.so needs at run time."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import DEMO, Skip, expect, expect_equal, main, program, source_path, test  # noqa: E402

sys.path.insert(0, source_path("tools"))
import freeze_abi  # noqa: E402

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


# What abidiff reports of a struct that grew at its end, which is allowed: structs carry their size.
ALLOWED_CHANGES = r"""(?x) .*summary:.* | 'struct[ ]g4_\w+'[ ]changed: | type[ ]size[ ]changed[ ]from[ ].* | \d+[ ]data[ ]member[ ]insertions?:
                      | '.*',[ ]at[ ]offset[ ].* | """


def changes(header):
    """What a header changes of ABI 1 that old programs would notice, as abidiff reports it; "" if nothing."""
    if not shutil.which("abidiff"):
        raise Skip("no abidiff here: package abigail-tools")
    with tempfile.TemporaryDirectory() as folder:
        library = freeze_abi.interface(header, folder)
        result = subprocess.run(["abidiff", "--no-added-syms", "--leaf-changes-only", freeze_abi.FROZEN_DUMP, library],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = result.stdout.splitlines() if result.returncode else []
        return "\n".join(line for line in lines if not re.fullmatch(ALLOWED_CHANGES, line.strip()) or re.search("[1-9] Removed", line))


@test
def abidiff_finds_nothing_that_old_programs_would_notice():
    expect_equal(changes(freeze_abi.header.PATH), "")


@test
def abidiff_allows_what_may_be_added_and_finds_what_may_not():
    with open(freeze_abi.header.PATH, encoding="utf-8") as file:
        text = file.read()
    times = "  uint64_t prefill_ns;\n  uint64_t decode_ns;             /*"
    swapped = "  uint64_t decode_ns;\n  uint64_t prefill_ns;             /*"
    function = "/* Added. shape: - errors: - owner: - threads: - since: 2 */\nG4_API uint32_t g4_added(void);\n\n"
    is_stop = "g4_is_stop(const g4_tokenizer* tokenizer, "
    cases = [("} g4_stats;", "  uint64_t added;\n} g4_stats;", True),
             ("/* ---- Events -", function + "/* ---- Events -", True),
             (times, swapped, False),
             ("  uint32_t thread_count;  /* 0:", "  uint64_t thread_count;  /* 0:", False),
             (is_stop + "int32_t token)", is_stop + "int64_t token)", False),
             ("G4_API g4_status g4_reset(g4_session* session);", "", False)]
    with tempfile.TemporaryDirectory() as folder:
        changed = os.path.join(folder, "g4.h")
        for before, after, allowed in cases:
            expect_equal(text.count(before), 1)
            with open(changed, "w", encoding="utf-8") as file:
                file.write(text.replace(before, after))
            expect_equal((after, changes(changed) == ""), (after, allowed))


@test
def what_is_made_from_the_header_is_up_to_date():
    for name in ("make_api.py", "make_rust.py"):
        run(sys.executable, source_path("tools", name), "--check")


@test
def a_program_built_with_the_first_header_runs():
    with tempfile.TemporaryDirectory() as folder:
        client = os.path.join(folder, "client")
        run("gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-missing-field-initializers", "-o", client,
            source_path("tests", "abi", "client.c"), "-L" + BUILD, "-lg4", "-lm", "-Wl,-rpath," + BUILD)
        versions = run("readelf", "--version-info", client)
        expect("G4_1" in versions, "the program does not ask for the symbol version")
        expect_equal(run(client, DEMO, os.path.join(folder, "saved.g4kv")), "answered\n")


main()
