#!/usr/bin/env python3
"""Writes docs/API.md, the reference of the C interface, from the comments of g4.h. With --check: only tells whether it is up to date."""
import re

import g4_header as header
from generated import finish

INTRODUCTION = """# The C interface

Made from [include/g4/g4.h](../include/g4/g4.h) by `tools/make_api.py`. [C.md](C.md) begins with a program; [ABI.md](ABI.md) says what
stays as it is.
"""


def escape(text):
    """Words of a comment as Markdown; names in code type."""
    text = re.sub(r"([\\<>*\[\]|])", r"\\\1", re.sub(r"`", "", text))
    return re.sub(r"\bg4_\w+(\(\))?|\bG4_[A-Z0-9_]+(\.\.\.)?|\bNULL\b|\bstruct_size\b", lambda name: f"`{name[0]}`", text)


def one_line(text):
    return escape(re.sub(r"\s+", " ", text))


def manual(text):
    """The words at the top of the header: its example becomes a code block, its rules stay a list."""
    words = text.split("\n", 2)[2]
    words = re.sub(r"In one minute:\n\n((?:    .*\n)+)", lambda code: "In one minute:\n\n```c\n" +
                   re.sub(r"(?m)^    ", "", code[1]) + "```\n", words)
    parts = re.split(r"(```c\n.*?```\n)", words, flags=re.DOTALL)
    out = "".join(part if part.startswith("```") else escape(part) for part in parts)
    return re.sub(r"(?m)^  - ", "- ", out)


def constants(items):
    rows = "".join(f"| `{one.name}` | {one.value.rstrip('u')} | {one_line(one.comment)} |\n" for one in items)
    return f"| constant | value | |\n|---|---|---|\n{rows}\n"


def struct(item):
    out = f"### `{item.name}`\n\n"
    if item.comment:
        out += f"{one_line(item.comment)}\n\n"
    if item.fields:
        rows = "".join(f"| `{one.type} {one.name}{f'[{one.array}]' if one.array else ''}` | {one_line(one.comment)} |\n"
                       for one in item.fields)
        out += f"| field | |\n|---|---|\n{rows}\n"
    return out


def function(item):
    tags = "".join(f"- {tag}: {escape(item.tags[tag])}\n" for tag in header.TAGS if item.tags[tag] != "-")
    return f"### `{item.name}`\n\n```c\n{wrapped(item.declaration)}\n```\n\n{one_line(item.comment)}\n\n{tags}\n"


def wrapped(declaration, width=110):
    if len(declaration) <= width:
        return declaration
    start, rest = declaration.split("(", 1)
    lines, line = [], start + "("
    for one in rest.split(", "):
        if len(line) + len(one) + 2 > width:
            lines.append(line.rstrip())
            line = "    "
        line += one + ", "
    return "\n".join([*lines, line.rstrip(", ")])


def alias(item):
    if item.type:
        return f"### `{item.name}`\n\n`{item.type}`. {one_line(item.comment)}".rstrip(" .") + ".\n\n"
    parameters = ", ".join(f"{one.type} {one.name}" for one in item.parameters)
    return f"### `{item.name}`\n\n```c\n{item.result} (*{item.name})({parameters});\n```\n\n{one_line(item.comment)}\n\n"


def section(part):
    out, at = f"## {part.title}\n\n", 0
    while at < len(part.items):
        item = part.items[at]
        if isinstance(item, header.Constant):
            end = at
            while end < len(part.items) and isinstance(part.items[end], header.Constant):
                end += 1
            out += constants(part.items[at:end])
            at = end
            continue
        out += {header.Struct: struct, header.Function: function, header.Alias: alias}[type(item)](item)
        at += 1
    return out


def main():
    text, sections = header.read()
    out = f"{INTRODUCTION}\n{manual(text)}\n\n" + "".join(section(part) for part in sections)
    finish({"docs/API.md": re.sub(r"\n{3,}", "\n\n", out).rstrip() + "\n"})


if __name__ == "__main__":
    main()
