#!/usr/bin/env python3
"""Builds llama.cpp, the engine that g4 is measured against: bench/peer.py DIR [--media] (about six minutes on two cores; with --media
also its library for pictures and sounds and a program that times it, two minutes more).

The source is that of the llama-cpp-python package. -march=native is avoided: some virtual machines report instructions that trap, so
what /proc/cpuinfo lists is switched on, and nothing else.
"""
import os
import subprocess
import sys

PACKAGE = "llama-cpp-python==0.3.36"
PROGRAMS = ["llama-bench", "llama-completion"]
MEDIA_PROGRAM = "peer_media"
CPU_OPTIONS = {"AVX": "avx", "AVX2": "avx2", "FMA": "fma", "F16C": "f16c", "BMI2": "bmi2", "AVX512": "avx512f", "AVX512_VBMI": "avx512vbmi",
               "AVX512_VNNI": "avx512_vnni", "AVX512_BF16": "avx512_bf16", "AMX_TILE": "amx_tile", "AMX_INT8": "amx_int8",
               "AMX_BF16": "amx_bf16"}
# (file, text, text instead of it)
CHANGES = [
    # GCC 12 drops the stores to the AMX tile configuration, and the program traps: a barrier keeps them.
    ("ggml/src/ggml-cpu/amx/mmq.cpp", "_tile_loadconfig(&tc);", '__asm__ volatile("" ::: "memory"); _tile_loadconfig(&tc);'),
    # With CUT_SHARED_LAYERS in the environment, batches of several tokens leave out the layers that own no K and V, as the newest
    # llama.cpp does when it reads a prompt. For timing only: the logits mean nothing then, K and V are as ever.
    ("src/models/gemma4.cpp",
     "    for (int il = 0; il < n_layer; ++il) {\n        const int64_t n_embd_head = hparams.n_embd_head_k(il);\n",
     "    for (int il = 0; il < n_layer; ++il) {\n"
     '        if (getenv("CUT_SHARED_LAYERS") && n_tokens > 1 && il >= (int) hparams.n_layer_kv_from_start) break;\n'
     "        const int64_t n_embd_head = hparams.n_embd_head_k(il);\n"),
]


class NoPeer(Exception):
    """Why there is no peer."""


def programs_in(folder):
    """{name: path} of the peer's programs, or None if one of them is not there."""
    paths = {name: os.path.join(folder, name) for name in PROGRAMS}
    return paths if all(os.access(path, os.X_OK) for path in paths.values()) else None


def built_programs(folder):
    return programs_in(os.path.join(folder, "build", "bin"))


def build(folder):
    """Builds the peer in a folder, or finishes a build that was interrupted, and returns its programs. Throws NoPeer."""
    source = os.path.join(folder, "source")
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(source):
        _unpack_source(folder, source)
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        features = set(next((line for line in file if line.startswith("flags")), "").split())
    options = [f"-DGGML_{option}={'ON' if feature in features else 'OFF'}" for option, feature in CPU_OPTIONS.items()]
    _run(folder, "cmake", "-S", os.path.join(source, "vendor", "llama.cpp"), "-B", os.path.join(folder, "build"), "-G", "Ninja",
         "-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=OFF", "-DLLAMA_CURL=OFF", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_SERVER=OFF",
         "-DLLAMA_BUILD_UI=OFF", *options)
    _run(folder, "cmake", "--build", os.path.join(folder, "build"), "--parallel", str(os.cpu_count()), "--target", *PROGRAMS)
    programs = built_programs(folder)
    if programs is None:
        raise NoPeer(f"the build in {folder} made no {' and '.join(PROGRAMS)}")
    return programs


def build_media(folder):
    """The same, and bench/peer_media.cc with the library it measures; returns the path of that program. Throws NoPeer."""
    build(folder)
    binaries, source = os.path.join(folder, "build", "bin"), os.path.join(folder, "source", "vendor", "llama.cpp")
    _run(folder, "cmake", "--build", os.path.join(folder, "build"), "--parallel", str(os.cpu_count()), "--target", "mtmd")
    program = os.path.join(binaries, MEDIA_PROGRAM)
    includes = [f"-I{os.path.join(source, *parts)}" for parts in (("include",), ("ggml", "include"), ("tools", "mtmd"))]
    _run(folder, os.environ.get("CXX", "c++"), "-std=c++17", "-O2", os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer_media.cc"),
         *includes, f"-L{binaries}", "-lmtmd", "-lllama", "-lggml", "-lggml-base", f"-Wl,-rpath,{binaries}", "-o", program)
    return program


def _unpack_source(folder, source):
    _run(folder, sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "llama-cpp-python", "--dest", folder, PACKAGE)
    archive = next(name for name in os.listdir(folder) if name.endswith(".tar.gz"))
    unfinished = source + ".unfinished"
    os.makedirs(unfinished, exist_ok=True)
    _run(folder, "tar", "--extract", "--strip-components=1", "--directory", unfinished, "--file", os.path.join(folder, archive))
    for name, text, replacement in CHANGES:
        _change(os.path.join(unfinished, "vendor", "llama.cpp", name), text, replacement)
    os.rename(unfinished, source)


def _change(path, text, replacement):
    with open(path, encoding="utf-8") as file:
        source = file.read()
    if text not in source:
        raise NoPeer(f"{path} is not as expected: bench/peer.py is made for {PACKAGE}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source.replace(text, replacement, 1))


def _run(folder, *command):
    """Runs a step of the build; its output goes to a log."""
    log = os.path.join(folder, "log.txt")
    with open(log, "ab") as file:
        try:
            code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False).returncode
        except FileNotFoundError:
            raise NoPeer(f"there is no {command[0]} to build it with") from None
    if code != 0:
        raise NoPeer(f"{os.path.basename(command[0])} failed with exit code {code}, see {log}")


if __name__ == "__main__":
    options = [argument for argument in sys.argv[1:] if argument != "--media"]
    if len(options) != 1:
        sys.exit("usage: bench/peer.py DIR [--media]")
    try:
        directory = os.path.abspath(options[0])
        print(build_media(directory) if "--media" in sys.argv else "\n".join(build(directory).values()))
    except NoPeer as reason:
        sys.exit(f"peer.py: {reason}")
