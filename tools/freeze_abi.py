#!/usr/bin/env python3
"""Stores the C interface as tests/abi/g4-1.h and g4-1.abi, which later ones are compared with. Run it once for each ABI: when its first
version is released. Until 0.1.0 is out, run it after each change of g4.h that the tests of the ABI do not allow."""
import os
import shutil
import subprocess
import tempfile

import g4_header as header

FROZEN_HEADER = os.path.join(header.ROOT, "tests", "abi", "g4-1.h")
FROZEN_DUMP = os.path.join(header.ROOT, "tests", "abi", "g4-1.abi")
DUMP_OPTIONS = ["--no-corpus-path", "--no-show-locs", "--no-comp-dir-path", "--no-elf-needed", "--type-id-style", "hash"]


def interface(path, folder):
    """A shared library with debug information that has the functions of a header, with empty bodies: g4 as abidw should see it, without
    what is behind the handles. The library itself cannot differ: the compiler sees the header beside each definition."""
    library = os.path.join(folder, "libg4.so")
    with open(os.path.join(folder, "interface.c"), "w", encoding="utf-8") as file:
        file.write(f'#include "{os.path.abspath(path)}"\n')
        for function in header.items(header.Function, path):
            arguments = ", ".join(f"{one.type} {one.name}" for one in function.parameters) or "void"
            body = "" if function.result == "void" else "return 0; "
            file.write(f"{function.result} {function.name}({arguments}) {{ {body}}}\n")
    with open(os.path.join(folder, "interface.map"), "w", encoding="utf-8") as file:
        file.write("G4_1 { global: g4_*; local: *; };\n")
    subprocess.run(["gcc", "-std=c99", "-g", "-w", "-fPIC", "-shared", "-Wl,-soname,libg4.so.1", "-Wl,--version-script=interface.map",
                    "-o", library, "interface.c"], cwd=folder, check=True)
    return library


def main():
    shutil.copyfile(header.PATH, FROZEN_HEADER)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["abidw", *DUMP_OPTIONS, "--out-file", FROZEN_DUMP, interface(header.PATH, folder)], check=True)


if __name__ == "__main__":
    main()
