"""What was measured, as an object for JSON and as a table."""
import os
import platform
import statistics

from engines import SESSIONS

HEADINGS = {"g4": "g4", "whole": "llama.cpp", "cut": "cut"}

# Rows of the table: name, label, unit.
ROWS = [
    *((f"prefill_{count}", f"prefill {count}", "tokens/s") for count in (128, 512, 2048)),
    *((f"decode_{depth}", f"decode at {depth}", "tokens/s") for depth in (0, 2048, 8192)),
    *((f"prefill_at_{depth}", f"prefill 512 up to {depth}", "tokens/s") for depth in (2048, 8192)),
    *((f"first_token_{count}", f"first token, {count} tokens", "s") for count in (16, 512)),
    *((f"first_token_saved_{count}", f"first token, {count} saved", "s") for count in (512, 2000)),
    ("open", "open the model", "s"),
    ("peak_memory", "peak resident memory", "MB"),
    ("open_prepared", "open a prepared file", "s"),
    ("first_token_prepared_16", "first token, 16 tokens, prepared", "s"),
    ("peak_memory_prepared", "peak memory, prepared", "MB"),
    ("decode_prepared", "decode, prepared", "tokens/s"),
    *((f"restore_{count}", f"restore {count} tokens", "s") for count in (512, 2000)),
    *((f"reading_{count}", f"read {count} tokens instead", "s") for count in (512, 2000)),
    *((f"restore_{count}_file", f"file of {count} tokens", "MB") for count in (512, 2000)),
    ("one_session", "decode, 1 session", "tokens/s"),
    ("many_sessions", f"decode, {SESSIONS} sessions", "tokens/s"),
    ("ple_warm", "decode, table in memory", "tokens/s"),
    ("ple_cold", "decode, table on disk", "tokens/s"),
]
SMALLER_IS_BETTER = ("s", "MB")

# Goals for E2B: (what, left side, right side or None for a plain value, "at least" or "at most", value).
GOALS = [
    *((f"prefill {count} against llama.cpp, {label}", f"g4.prefill_{count}", f"{column}.prefill_{count}", "at least", factor)
      for count in (512, 2048) for column, label, factor in (("cut", "cut", 2.0), ("whole", "whole", 6.0))),
    ("decode against llama.cpp", "g4.decode_0", "whole.decode_0", "at least", 1.7),
    ("prefill up to 8192 against up to 512", "g4.prefill_at_8192", "g4.prefill_512", "at least", 0.7),
    (f"{SESSIONS} sessions against one", "g4.many_sessions", "g4.one_session", "at least", 3.0),
    ("decode, table on disk against in memory", "g4.ple_cold", "g4.ple_warm", "at least", 0.97),
    ("peak resident memory, MB", "g4.peak_memory", None, "at most", 1500),
    ("open to first token, s", "g4.first_token_16", None, "at most", 1.5),
    ("peak resident memory, prepared file, MB", "g4.peak_memory_prepared", None, "at most", 1450),
    ("open to first token, prepared file, s", "g4.first_token_prepared_16", None, "at most", 0.15),
    ("restore 2000 tokens, s", "g4.restore_2000", None, "at most", 0.05),
]


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith(("model name", "Model"))]
    return {"cpu": models[0] if models else platform.machine(), "cpus": os.cpu_count(), "system": platform.platform(),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), "load_average": os.getloadavg()}


def summary(samples, g4, llama, about):
    """Everything measured: medians, samples, ratios, goals."""
    values = {name: statistics.median(list_) / (1e6 if name.endswith(("_memory", "_memory_prepared", "_file")) else 1) for name, list_ in samples.items()}
    info = {key: g4.info[key] for key in ("name", "variant", "quantisation", "cpu", "thread_count")}
    rows = []
    for name, label, unit in ROWS:
        row = {"name": name, "label": label, "unit": unit, **{column: values.get(f"{column}.{name}") for column in HEADINGS}}
        for column in ("whole", "cut"):
            row[f"ratio_{column}"] = ratio(row["g4"], row[column], unit)
        if any(row[column] is not None for column in HEADINGS):
            rows.append(row)
    goals = []
    for what, left, right, direction, goal in GOALS if g4.info["variant"] == "E2B" else ():
        if left in values and (right is None or right in values):
            value = values[left] / values[right] if right else values[left]
            goals.append({"what": what, "goal": f"{direction} {goal}", "value": value,
                          "met": value >= goal if direction == "at least" else value <= goal})
    return {**about, "machine": machine(), "model": {"path": g4.model, "bytes": os.path.getsize(g4.model), **info}, "g4": g4.version,
            "peer": {"name": llama.name, "version": llama.version} if llama else None, "rows": rows, "goals": goals, "samples": samples}


def ratio(own, other, unit):
    """How many times better g4 is."""
    if not own or not other:
        return None
    return other / own if unit in SMALLER_IS_BETTER else own / other


def table(result):
    model, engine = result["model"], result["peer"]
    lines = [f"{model['name']} ({model['variant']}, {model['quantisation']}, {model['bytes'] / 1e9:.1f} GB), "
             f"{model['thread_count']} threads of {model['cpu']}, {result['machine']['cpu']}, {result['date']}",
             f"{result['g4']}, medians of {result['rounds']} rounds" +
             (f", beside {engine['name']} {engine['version']}; x: how many times better g4 is" if engine else ""), ""]
    lines.append(f"{'':32} {'':8} {'g4':>9}" + (f" {'llama.cpp':>10} {'x':>6} {'cut':>10} {'x':>6}" if engine else ""))
    for row in result["rows"]:
        line = f"{row['label']:32} {row['unit']:8} {number(row['g4']):>9}"
        if engine:
            line += "".join(f" {number(row[column]):>10} {number(row[f'ratio_{column}']):>6}" for column in ("whole", "cut"))
        lines.append(line.rstrip())
    lines += ["", f"{'goal':42} {'':>14} {'measured':>9}"] if result["goals"] else []
    for goal in result["goals"]:
        lines.append(f"{goal['what']:42} {goal['goal']:>14} {number(goal['value']):>9}  {'met' if goal['met'] else 'missed'}")
    return "\n".join(lines + [""] + [f"note: {note}" for note in result["notes"]]).rstrip() + "\n"


def number(value):
    if value is None:
        return ""
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
