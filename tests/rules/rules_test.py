#!/usr/bin/env python3
"""The rules of the source tree that a compiler does not check (docs/ARCHITECTURE.md)."""
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import Skip, expect, expect_equal, main, program, source_path, test  # noqa: E402

BUILD = os.path.dirname(os.path.dirname(program()))
FOLDERS = ["base", "quant", "kernels", "io", "model", "text", "kv", "nn", "media", "session", "capi"]
HEADER_TAGS = ["shape:", "errors:", "owner:", "threads:", "since:"]
REPOSITORY_LIMIT_BYTES = 28 << 20  # 25 for the text part: its goldens and the demo model
# Archives of these cannot be linked into libg4.so (cmake/abseil.cmake).
ABSEIL_BANNED = r"absl/(container/.*hash|strings/str_format|strings/cord|synchronization|time|random|log|flags)"
# What a library must not do: print, end the process, look at the environment.
BANNED_CALLS = {"printf", "vprintf", "puts", "putchar", "perror", "fprintf", "vfprintf", "fputs", "fputc", "stdout", "stderr", "exit",
                "_exit", "quick_exit", "abort", "getenv", "secure_getenv", "std::cout", "std::cerr", "std::clog"}
# From absl/status/status.h; constants that the program makes when it first needs them.
VARIABLES_EXPECTED = r"std::__ioinit|g4_cpus::names|::k[A-Z]\w*$"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def sources():
    """(folder, name, path) of every C++ file in src."""
    for path in sorted(glob.glob(source_path("src", "*", "*.*"))):
        if path.endswith((".h", ".cc")):
            yield os.path.basename(os.path.dirname(path)), os.path.basename(path), path


def includes(path):
    return re.findall(r'^#include [<"]([^">]+)[">]', read(path), re.MULTILINE)


def objects(folder="*"):
    """(source file name, object file) of what the library is made of."""
    found = sorted(glob.glob(os.path.join(BUILD, "CMakeFiles", "g4_objects.dir", "src", folder, "*.o")))
    expect(found, f"no object files in {BUILD}")
    return [(os.path.basename(path)[:-2], path) for path in found]


def symbols(path, *options):
    """(kind, name) as nm prints them."""
    text = subprocess.run(["nm", "--demangle", *options, path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(r"^[0-9a-f ]* ([A-Za-z]) (.+)$", text, re.MULTILINE)


@test
def folders_include_only_those_above_them():
    for folder, name, path in sources():
        for include in includes(path):
            above = include.split("/")[0]
            if folder == "cli":
                expect(above not in FOLDERS, f"cli/{name} includes {include}: the tool is a client of include/g4 only")
            elif above in FOLDERS:
                expect(FOLDERS.index(above) <= FOLDERS.index(folder), f"{folder}/{name} includes {include}, which is below it")
            else:
                expect(above not in ("cli", "tests"), f"{folder}/{name} includes {include}")
            if above == "g4":
                expect(folder in ("capi", "cli"), f"{folder}/{name} includes {include}: only capi knows the C interface")


@test
def every_folder_has_its_place_in_the_order():
    expect_equal(sorted({folder for folder, _, _ in sources()} - {"cli"}), sorted(FOLDERS))


@test
def file_names_are_unique():
    seen = {}
    for folder, name, _ in sources():
        expect(name not in seen, f"{folder}/{name} has the name of {seen.get(name)}/{name}")
        seen[name] = folder


@test
def abseil_is_used_only_where_it_can_be_linked():
    for folder, name, path in sources():
        for include in includes(path):
            expect(not re.match(ABSEIL_BANNED, include), f"{folder}/{name} includes {include}, see cmake/abseil.cmake")


@test
def every_function_of_the_c_interface_has_its_tags():
    header = read(source_path("include", "g4", "g4.h"))
    declarations = list(re.finditer(r"^G4_API [^;]*?\b(g4_\w+)\(", header, re.MULTILINE))
    expect(declarations, "g4.h declares nothing")
    for declaration in declarations:
        comment = re.search(r"/\*(?:(?!\*/).)*\*/\s*$", header[:declaration.start()], re.DOTALL)
        expect(comment, f"{declaration[1]} has no comment")
        places = [comment[0].find(tag) for tag in HEADER_TAGS]
        expect(-1 not in places, f"the comment of {declaration[1]} lacks {HEADER_TAGS[places.index(-1)] if -1 in places else ''}")
        expect_equal(places, sorted(places))


@test
def instruction_set_flags_are_in_one_place():
    files = glob.glob(source_path("**", "CMakeLists.txt"), recursive=True) + glob.glob(source_path("cmake", "*"))
    files += [source_path("CMakePresets.json"), source_path("test"), source_path("demo"), source_path(".ci", "run")]
    for path in files:
        text = read(path)
        expect(not re.search(r"-m(arch|cpu|tune)=(?!armv)", text), f"{path} builds for the machine it is built on")
        if os.path.basename(path) != "isa.cmake":
            expect(not re.search(r"[\s\"]-m(avx|sse|fma|f16c|bmi|amx)", text), f"{path} has flags that belong into cmake/isa.cmake")


@test
def instruction_set_files_share_no_code_with_others():
    """A function that the linker may merge with a copy elsewhere would run instructions that the machine may lack."""
    mergeable = {name: {symbol for kind, symbol in symbols(path, "--defined-only") if kind in "WVu"} for name, path in objects()}
    rows = [name for name in mergeable if re.fullmatch(r"isa_\w+\.cc", name) and name != "isa_generic.cc"]
    expect(rows, "no isa_*.cc was built")
    for row in rows:
        for symbol in sorted(mergeable[row]):
            expect(not re.search(r"\b(std|absl|Eigen)::", symbol), f"{row} defines {symbol}")
            for other in mergeable:
                expect(other == row or symbol not in mergeable[other], f"{row} and {other} both define {symbol}")


@test
def instruction_set_files_include_no_libraries():
    allowed = r"(base/cpu\.h$|quant/|kernels/|\w*intrin\.h$|arm_neon\.h$|(stddef|stdint|string|math)\.h$|c(stddef|stdint|string|math)$)"
    for folder, name, path in sources():
        if re.match(r"isa_", name):
            for include in includes(path):
                expect(re.match(allowed, include), f"{folder}/{name} includes {include}")


@test
def the_library_does_not_print_end_the_process_or_read_the_environment():
    for name, path in objects():
        used = {re.sub(r"@.*", "", symbol) for kind, symbol in symbols(path, "--undefined-only")}
        expect(not used & BANNED_CALLS, f"{name} uses {', '.join(sorted(used & BANNED_CALLS))}")


@test
def the_library_has_no_variables_that_outlive_a_call():
    for name, path in objects():
        table = subprocess.run(["objdump", "--syms", "--demangle", path], stdout=subprocess.PIPE, text=True, check=True).stdout
        variables = re.findall(r"\bO \.(?:bss|data)(?!\.rel\.ro|\S*\.DW\.ref)\S*\s+[0-9a-f]+\s+(?:\.hidden )?(.+)", table)
        variables = [variable for variable in variables if not re.search(VARIABLES_EXPECTED, variable)]
        expect(not variables, f"{name} keeps {', '.join(variables)}")


@test
def the_repository_stays_small():
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=source_path(), stdout=subprocess.PIPE, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise Skip("no git repository here")
    paths = [source_path(name) for name in listed.decode().split("\0") if name]
    total = sum(os.path.getsize(path) for path in paths if os.path.isfile(path))
    expect(0 < total < REPOSITORY_LIMIT_BYTES, f"{total} bytes")


@test
def the_size_of_each_folder_is_told():
    lines = {}
    for folder, _, path in sources():
        lines[folder] = lines.get(folder, 0) + read(path).count("\n")
    print("note: lines in src: " + ", ".join(f"{folder} {lines.get(folder, 0)}" for folder in [*FOLDERS, "cli"]) +
          f", together {sum(lines.values())}")
    for folder, name, path in sources():
        count = read(path).count("\n")
        if count > 500:
            print(f"note: {folder}/{name} has {count} lines: does it do two things?")


main()
