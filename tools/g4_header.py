"""Reads include/g4/g4.h, whose form is regular, into plain objects: what the generators in this folder and the tests build upon."""
import os
import re
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATH = os.path.join(ROOT, "include", "g4", "g4.h")
TAGS = ["shape", "errors", "owner", "threads", "since"]


@dataclass
class Constant:
    name: str
    value: str
    comment: str


@dataclass
class Variable:
    """A struct field or a parameter. type is C without the name: "const int32_t*"; array is a length or ""."""
    name: str
    type: str
    array: str = ""
    comment: str = ""


@dataclass
class Alias:
    """typedef of a number, with the constants that follow it, or of a callback."""
    name: str
    type: str
    comment: str
    result: str = ""
    parameters: list = field(default_factory=list)


@dataclass
class Struct:
    """No fields: an opaque handle."""
    name: str
    fields: list
    comment: str


@dataclass
class Function:
    name: str
    result: str
    parameters: list
    comment: str  # without the tags
    tags: dict
    declaration: str


@dataclass
class Section:
    title: str
    items: list = field(default_factory=list)


def plain(comment):
    """The words of a C comment; its line breaks are kept."""
    lines = re.sub(r"^/\*|\*/$", "", comment.strip()).split("\n")
    lines = [re.sub(r"^ \*( |$)", "", line).rstrip() for line in lines]
    return "\n".join(lines).strip()


def variable(text, comment=""):
    name, array = re.fullmatch(r".*?(\w+)(?:\[(\w+)\])?", text.strip(), re.DOTALL).groups()
    kind = re.fullmatch(r"(.*?)\w+(?:\[\w+\])?", text.strip(), re.DOTALL)[1]
    return Variable(name, re.sub(r"\s+", " ", kind).strip(), array or "", comment)


def parameters(text):
    return [] if text.strip() == "void" else [variable(one) for one in text.split(",")]


def split_tags(comment):
    """(words, {tag: words}): tags stand one a line or several in one, in the order of TAGS."""
    words, rest = re.split(r"\bshape:", comment, maxsplit=1)
    tags, tag = {}, "shape"
    for following in [*TAGS[1:], None]:
        text, rest = re.split(rf"\b{following}:", rest, maxsplit=1) if following else (rest, "")
        tags[tag] = re.sub(r"\s+", " ", text).strip()
        tag = following
    return words.strip(), tags


PATTERNS = [(kind, re.compile(pattern, re.DOTALL | re.MULTILINE)) for kind, pattern in (
    ("section", r"/\* ---- (?P<title>.+?) -+ \*/"),
    ("comment", r"/\*(?:(?!\*/).)*\*/"),
    ("constant", r"#define (?P<name>G4_[A-Z0-9_]+) (?P<value>-?\d+u?)(?:[ ]+(?P<note>/\*[^\n]*\*/))?$"),
    ("callback", r"typedef (?P<result>\w+) \(\*(?P<name>\w+)\)\((?P<parameters>[^)]*)\);"),
    ("alias", r"typedef (?P<type>u?int\d+_t) (?P<name>\w+);"),
    ("opaque", r"typedef struct (?P<name>\w+) \w+;(?:[ ]+(?P<note>/\*[^\n]*\*/))?"),
    ("struct", r"typedef struct (?P<name>\w+) \{\n(?P<body>.*?)\n\} (?P=name);"),
    ("function", r"G4_API (?P<result>[^;()]*?)\b(?P<name>g4_\w+)\((?P<parameters>[^)]*)\);"),
    ("gap", r"\s+"),
    ("rest", r"#(?:[^\n\\]|\\\n)*|extern \"C\" \{|template <typename T>.*?^\}|\}"))]


def fields(body):
    found = re.findall(r"^  ([^;/]+);(?:[ ]+(/\*(?:(?!\*/).)*\*/))?$", body, re.MULTILINE | re.DOTALL)
    if len(found) != re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL).count(";"):
        raise ValueError(f"g4.h: one field a line, please:\n{body}")
    return [variable(text, re.sub(r"\s+", " ", plain(comment))) for text, comment in found]


def item(kind, match, comment):
    part = {name: value or "" for name, value in match.groupdict().items()}
    note = plain(part.get("note", "")) or comment
    if kind == "constant":
        return Constant(part["name"], part["value"], note)
    if kind == "alias":
        return Alias(part["name"], part["type"], comment)
    if kind == "callback":
        return Alias(part["name"], "", comment, part["result"], parameters(part["parameters"]))
    if kind == "opaque":
        return Struct(part["name"], [], note)
    if kind == "struct":
        return Struct(part["name"], fields(part["body"]), comment)
    words, tags = split_tags(comment)
    declaration = re.sub(r"\s+", " ", match[0].removeprefix("G4_API "))
    return Function(part["name"], part["result"].strip(), parameters(part["parameters"]), words, tags, declaration)


def read(path=PATH):
    """(manual, sections): the words at the top of the header, and all it declares in its order."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    manual, sections, comment, at = "", [], "", 0
    while at < len(text):
        kind, match = next(((kind, match) for kind, pattern in PATTERNS if (match := pattern.match(text, at))), (None, None))
        if not match:
            raise ValueError(f"g4.h: cannot read {text[at:at + 80]!r}")
        at = match.end()
        if kind == "comment":
            comment = plain(match[0])
            manual = manual or comment
        elif kind == "gap":
            comment = comment if match[0].count("\n") < 2 else ""
        else:
            if kind == "section":
                sections.append(Section(match["title"]))
            elif kind != "rest":
                sections[-1].items.append(item(kind, match, comment))
            comment = ""
    return manual, sections


def items(kind, path=PATH):
    """All items of one class, in the order of the header."""
    return [item for section in read(path)[1] for item in section.items if isinstance(item, kind)]
