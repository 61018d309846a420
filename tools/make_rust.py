#!/usr/bin/env python3
"""Writes the declarations of the Rust crate g4-sys from g4.h. With --check: only tells whether they are up to date."""
import re

import g4_header as header
from generated import finish

DECLARATIONS = "bindings/rust/g4-sys/src/declarations.rs"
NAMES = "bindings/rust/g4-sys/tests/header/names.rs"
ORIGIN = "// Made from include/g4/g4.h by tools/make_rust.py.\n"
PRIMITIVES = {"char": "c_char", "float": "f32", "double": "f64", "void": "c_void", "size_t": "usize", "int8_t": "i8", "uint8_t": "u8",
              "int16_t": "i16", "uint16_t": "u16", "int32_t": "i32", "uint32_t": "u32", "int64_t": "i64", "uint64_t": "u64"}
ALIASES = {alias.name: alias.type for alias in header.items(header.Alias)}
# A constant has the type of the alias it belongs to; flags end in u.
OWNERS = {"G4_OK": "g4_status", "G4_ERR_": "g4_status", "G4_EVENT_": "g4_event_kind", "G4_CHANNEL_": "g4_channel", "G4_KV_": "g4_kv_type",
          "G4_PRECISION_": "g4_precision", "G4_TEMPLATE_": "g4_chat_template", "G4_FINISH_": "g4_finish_reason",
          "G4_SAMPLE_": "g4_sample_type"}


def rust_type(c):
    """const char* const* -> *const *const c_char; a callback may be NULL."""
    words = re.findall(r"\w+|\*", c)
    base = next(word for word in words if word not in ("const", "*"))
    name = PRIMITIVES.get(base, base)
    if base in ALIASES and not ALIASES[base]:
        name = f"Option<{base}>"
    pointee_const = words[0] == "const"
    for index, word in enumerate(words):
        if word == "*":
            name = ("*const " if pointee_const else "*mut ") + name
            pointee_const = words[index + 1:index + 2] == ["const"]
    return name


def field_type(field):
    return f"[{rust_type(field.type)}; {field.array}]" if field.array else rust_type(field.type)


def constant_type(constant):
    if constant.value.endswith("u") or constant.name == "G4_ABI_VERSION":
        return "u32"
    return next((kind for start, kind in OWNERS.items() if constant.name.startswith(start)), "i32")


def documentation(text, indent=""):
    return "".join(f"{indent}///{' ' + line if line else ''}\n" for line in text.split("\n")) if text else ""


def words(text):
    """Rustdoc takes [T, V] for a link and <bos> for HTML."""
    return re.sub(r"([\[\]<>*])", r"\\\1", text)


def signature(function):
    parameters = ", ".join(f"{one.name}: {rust_type(one.type)}" for one in function.parameters)
    result = "" if function.result == "void" else f" -> {rust_type(function.result)}"
    return f"({parameters}){result}"


def declare(item):
    text = documentation(words(item.comment))
    if isinstance(item, header.Constant):
        return f"{text}pub const {item.name}: {constant_type(item)} = {item.value.rstrip('u')};\n"
    if isinstance(item, header.Alias) and item.type:
        return f"{text}pub type {item.name} = {rust_type(item.type)};\n"
    if isinstance(item, header.Alias):
        return f"{text}pub type {item.name} = unsafe extern \"C\" fn{signature(item)};\n"
    if isinstance(item, header.Struct) and not item.fields:
        return (f"{text}#[repr(C)]\npub struct {item.name} {{\n    _opaque: [u8; 0],\n"
                "    _not_send_sync_unpin: PhantomData<(*mut u8, PhantomPinned)>,\n}\n")
    if isinstance(item, header.Struct):
        fields = "".join(f"{documentation(words(one.comment), '    ')}    pub {one.name}: {field_type(one)},\n" for one in item.fields)
        return f"{text}#[repr(C)]\n#[derive(Clone, Copy, Debug)]\npub struct {item.name} {{\n{fields}}}\n"
    tags = "".join(f"- {tag}: {words(text)}\n" for tag, text in item.tags.items())
    text = documentation(f"{words(item.comment)}\n\n{tags.strip()}")
    return f"{text}pub fn {item.name}{signature(item)};\n"


def declarations():
    out = ORIGIN + "use core::marker::{PhantomData, PhantomPinned};\nuse std::os::raw::{c_char, c_void};\n\n"
    functions = ""
    for section in header.read()[1]:
        out += f"// {section.title}\n\n"
        for item in section.items:
            if isinstance(item, header.Function):
                functions += re.sub(r"^(?=.)", "    ", declare(item), flags=re.MULTILINE) + "\n"
            else:
                out += declare(item) + ("\n" if isinstance(item, header.Struct) or isinstance(item, header.Alias) else "")
        out = out.rstrip("\n") + "\n\n"
    return f"{out}extern \"C\" {{\n{functions.rstrip()}\n}}\n"


def names():
    """For tests/header/main.rs: which constants to compare, and which fields to measure."""
    types = [(one.name, one.fields) for one in header.items(header.Struct) if one.fields]
    types += [(one.name, []) for one in header.items(header.Alias)]
    structs = "".join(f"    {name} {{ {' '.join(field.name for field in fields)} }}\n" for name, fields in types)
    constants = "".join(f"    {one.name},\n" for one in header.items(header.Constant))
    return f"{ORIGIN}types! {{\n{structs}}}\nconstants! {{\n{constants}}}\n"


if __name__ == "__main__":
    finish({DECLARATIONS: declarations(), NAMES: names()})
