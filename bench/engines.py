"""The two engines as programs to run, and the steps of the comparison."""
import dataclasses
import json
import os
import statistics
import subprocess
import tempfile
import threading
import time

import gguf_file

PLE_TABLE = "per_layer_token_embd.weight"
DECODE_TOKENS = 24
SESSIONS = 8
PLE_REPEATS = 3  # the difference is small
CONTEXT = 4096  # for memory, which depends on it


class Failed(Exception):
    """A program that did not do what it should."""


class OutOfTime(Exception):
    """The end time came before the program's end."""


@dataclasses.dataclass
class Result:
    output: str
    seconds: float
    peak_bytes: int


def run(command, end_time=None, environment=None):
    """Runs a program to its end. Throws Failed, OutOfTime."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        if end_time is not None and start >= end_time:
            raise OutOfTime
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                                   env={**os.environ, **(environment or {})})
        timer = threading.Timer(end_time - start, process.kill) if end_time is not None else None
        try:
            if timer:
                timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.monotonic() - start
        finally:
            if timer:
                timer.cancel()
            if process.returncode is None:
                process.kill()
                process.wait()
        if process.returncode != 0 and end_time is not None and time.monotonic() >= end_time:
            raise OutOfTime
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            last = errors.read().decode(errors="replace").strip().splitlines()[-1:]
            raise Failed(f"{os.path.basename(command[0])} ended with exit code {process.returncode}: {' '.join(last)}")
        return Result(output.read().decode(errors="replace"), seconds, usage.ru_maxrss * 1024)


class G4:
    prepared = None  # the prepared file of the model, if there is one

    def __init__(self, program, model, threads, folder, end_time):
        self._program, self.model, self._folder, self._end_time = program, model, folder, end_time
        self.info = json.loads(self.run("info", model, "--json", *(["--threads", str(threads)] if threads else [])).output)
        self.threads = self.info["thread_count"]
        self.version = self.run("--version").output.strip()

    def run(self, *arguments):
        return run([self._program, *arguments], self._end_time)

    def prepare(self, path):
        """Makes the prepared file, unless it is there."""
        if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(self.model):
            self.run("prepare", self.model, path)
        self.prepared = path

    def bench(self, prefill, decode, depth=0, context=None, options=(), model=None):
        arguments = {"prefill": prefill, "decode": decode, "depth": depth, "repeat": 1, "threads": self.threads,
                     "context": context or depth + prefill + decode}
        words = [word for name, value in arguments.items() for word in (f"--{name}", str(value))]
        result = self.run("bench", model or self.model, "--json", *words, *options)
        return json.loads(result.output), result

    def prefill(self, count):
        bench, result = self.bench(count, 1, context=min(CONTEXT, self.info["model_context_count"]))
        return {f"prefill_{count}": bench["prefill_tokens_per_s"], "peak_memory": result.peak_bytes, "open": bench["open_seconds"]}

    def decode(self, depth):
        """At a depth above 0 also the prefill of the tokens just before it."""
        prompt = min(depth, 512) or 1
        bench, _ = self.bench(prompt, DECODE_TOKENS, depth=max(0, depth - prompt))
        values = {f"decode_{depth}": bench["decode_tokens_per_s"]}
        if depth:
            values[f"prefill_at_{depth}"] = bench["prefill_tokens_per_s"]
        return values

    def sessions(self):
        one, _ = self.bench(64, DECODE_TOKENS)
        many, _ = self.bench(64, DECODE_TOKENS, options=["--sessions", str(SESSIONS)])
        return {"one_session": one["decode_tokens_per_s"], "many_sessions": many["decode_tokens_per_s"]}

    def ple_table(self):
        """Decoding after the table was thrown out of the system's cache, and again with what that brought in."""
        rates = {"ple_cold": [], "ple_warm": []}
        for _ in range(PLE_REPEATS):
            forget(self.model, PLE_TABLE)
            for state in rates.values():
                state.append(self.bench(1, DECODE_TOKENS)[0]["decode_tokens_per_s"])
        return {name: statistics.median(values) for name, values in rates.items()}

    def from_prepared(self, count, prompt):
        bench, result = self.bench(512, DECODE_TOKENS, context=min(CONTEXT, self.info["model_context_count"]), model=self.prepared)
        return {"open_prepared": bench["open_seconds"], "peak_memory_prepared": result.peak_bytes,
                "decode_prepared": bench["decode_tokens_per_s"],
                f"first_token_prepared_{count}": self._run_prompt(prompt, model=self.prepared).seconds}

    def restore(self, count):
        path = os.path.join(self._folder, "g4.kv")
        bench, _ = self.bench(count, 1, options=["--restore", path])
        return {f"restore_{count}": bench["restore_seconds"], f"restore_{count}_file": bench["kv_file_bytes"],
                f"reading_{count}": count / bench["prefill_tokens_per_s"]}

    def first_token(self, count, prompt):
        return {f"first_token_{count}": self._run_prompt(prompt).seconds}

    def saved_prompt(self, count, prompt):
        path = os.path.join(self._folder, "g4.kv")
        self._run_prompt(prompt, "--save-kv", path)
        return {f"first_token_saved_{count}": self._run_prompt(prompt, "--load-kv", path).seconds}

    def _run_prompt(self, prompt, *options, model=None):
        context = str(min(CONTEXT, self.info["model_context_count"]))
        return self.run("run", model or self.model, "--raw", "-p", prompt, "--greedy", "--max-tokens", "1", "--threads", str(self.threads),
                        "--context", context, *options)


class LlamaCpp:
    name = "llama.cpp"

    def __init__(self, programs, model, threads, folder, end_time):
        self._programs, self._model, self._threads, self._folder, self._end_time = programs, model, threads, folder, end_time
        self.version = None

    def prefill(self, count, cut=False):
        bench, result = self._bench(["-p", count, "-n", 0], cut)
        return {f"prefill_{count}": bench["avg_ts"], "peak_memory": result.peak_bytes}

    def decode(self, depth):
        # K and V of the tokens before are the same with the layers cut out, and sooner there.
        bench, _ = self._bench(["-p", 0, "-n", DECODE_TOKENS, "-d", depth], cut=depth > 0)
        return {f"decode_{depth}": bench["avg_ts"]}

    def first_token(self, count, prompt, cut=False):
        return {f"first_token_{count}": self._complete(prompt, cut=cut).seconds}

    def saved_prompt(self, count, prompt):
        path = os.path.join(self._folder, "llama.cache")
        if os.path.exists(path):
            os.remove(path)
        self._complete(prompt, "--prompt-cache", path, cut=True)
        restored = self._complete(prompt, "--prompt-cache", path, "--prompt-cache-ro").seconds
        # It does not tell how long restoring takes: what it takes more than a prompt of one word.
        return {f"first_token_saved_{count}": restored, f"restore_{count}": max(0.0, restored - self._complete("a").seconds),
                f"restore_{count}_file": os.path.getsize(path)}

    def _bench(self, arguments, cut):
        result = self._run("llama-bench", "-m", self._model, "-t", self._threads, "-r", 1, "--no-warmup", "-o", "json", *arguments,
                           cut=cut)
        bench = json.loads(result.output)[0]
        self.version = bench["build_commit"]
        return bench, result

    def _complete(self, prompt, *options, cut=False):
        path = os.path.join(self._folder, "prompt.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(prompt)
        return self._run("llama-completion", "-m", self._model, "-t", self._threads, "-c", CONTEXT, "-f", path, "-n", 1, "--temp", 0,
                         "-no-cnv", "--no-escape", "--no-warmup", *options, cut=cut)

    def _run(self, program, *arguments, cut):
        return run([self._programs[program], *map(str, arguments)], self._end_time, {"CUT_SHARED_LAYERS": "1"} if cut else None)


def forget(path, tensor):
    """Throws a tensor's bytes out of the system's file cache."""
    found = gguf_file.find_tensor(path, tensor)
    if found is not None:
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), *found, os.POSIX_FADV_DONTNEED)


@dataclasses.dataclass
class Step:
    """One measurement of one engine; its values are named column.name."""
    column: str
    what: str
    call: callable

    @property
    def title(self):
        return f"{self.column}, {self.what}"

    def measure(self):
        return {f"{self.column}.{name}": value for name, value in self.call().items()}


def steps(g4, llama, prompts, quick, context, notes):
    """The steps of a round: the engines take turns at each measurement. What the model's context cannot hold is noted and left out."""
    chosen = []

    def add(what, needs, own, whole=None, cut=None):
        if needs > context:
            notes.append(f"left out: {what}: the model's context is {context}")
            return
        chosen.append(Step("g4", what, own))
        for column, call in {"whole": whole, "cut": cut}.items():
            if llama and call:
                chosen.append(Step(column, what, call))

    for count in (128, 512) if quick else (128, 512, 2048):
        add(f"prefill of {count} tokens", count + 1, lambda n=count: g4.prefill(n), lambda n=count: llama.prefill(n),
            lambda n=count: llama.prefill(n, cut=True))
    for depth in (0, 2048) if quick else (0, 2048, 8192):
        add(f"decode at depth {depth}", depth + DECODE_TOKENS + 1, lambda n=depth: g4.decode(n), lambda n=depth: llama.decode(n))
    for count in (16,) if quick else (16, 512):
        add(f"first token after {count} tokens", count + 1, lambda n=count: g4.first_token(n, prompts[n]),
            lambda n=count: llama.first_token(n, prompts[n]), lambda n=count: llama.first_token(n, prompts[n], cut=True))
    for count in (512,) if quick else (512, 2000):
        add(f"restoring {count} tokens", count + 1, lambda n=count: {**g4.restore(n), **g4.saved_prompt(n, prompts[n])},
            lambda n=count: llama.saved_prompt(n, prompts[n]))
    if g4.prepared:
        add("a prepared file", 512 + DECODE_TOKENS, lambda: g4.from_prepared(16, prompts[16]))
    add(f"{SESSIONS} sessions", 64 + DECODE_TOKENS, g4.sessions)
    if g4.info["ple_size"]:
        add("per-layer embeddings from the disk", DECODE_TOKENS + 1, g4.ple_table)
    return chosen
