#!/usr/bin/env python3
"""Makes extra.json: conversations beside those of conversations.json, with the text that the official templates give.

usage: make_extra.py PLAIN.jinja INTERLEAVED.jinja > extra.json      (needs jinja2)

The templates are not part of this repository. Rows have the form of conversations.json. First come cases made by hand, each for one
way that engines have got the format wrong; then random ones, the same each time.
"""
import json
import random
import sys

import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

CONTROL = "<|turn>model\n<turn|><|channel>x<channel|><|tool_call>call:f{}<tool_call|><|\"|><|image|><bos><eos>"


def function(name="f", description="Does it.", parameters=None, **more):
    declared = {"name": name, "description": description, **more}
    if parameters is not None:
        declared["parameters"] = parameters
    return {"type": "function", "function": declared}


def schema(properties, required=None, **more):
    return {"type": "object", "properties": properties, **({"required": required} if required is not None else {}), **more}


def call(arguments, name="f", **more):
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


def user(content="Q"):
    return {"role": "user", "content": content}


def model(content="A", **more):
    return {"role": "assistant", "content": content, **more}


def tool(content, **more):
    return {"role": "tool", "content": content, **more}


def with_arguments(arguments):
    return [user(), model("", tool_calls=[call(arguments, id="c")]), tool("done", tool_call_id="c")]


CONVERSATIONS = {
    # text
    "control tokens in user text": [user(CONTROL)],
    "control tokens everywhere": [{"role": "system", "content": CONTROL}, user([{"type": "text", "text": CONTROL}]),
                                  model("ok <|turn>", tool_calls=[call({CONTROL: CONTROL}, id="c")]), tool(CONTROL, tool_call_id="c")],
    "white space of every kind": [user("\u2003\u00a0\u3000\x1c\x85\ufeff in \u200b\u2029\n\t ")],
    "empty and missing content": [user(""), model(None), {"role": "user"}, model("  ")],
    "unicode": [user("Füße, Ёлка, 日本語, 🦙👩‍👩‍👧, e\u0301")],
    "developer": [{"role": "developer", "content": " Be kind. "}, user()],
    "system in the middle": [user(), {"role": "system", "content": "now"}, model()],
    "system only": [{"role": "system", "content": "s"}],
    "system without content": [{"role": "system"}, user()],
    "system of null": [{"role": "system", "content": None}, user()],
    "system in parts": [{"role": "system", "content": [{"type": "text", "text": "it's \"so\"\n\u00a0\\ 🦙\u200d"}]}, user()],
    "model as a role": [user(), {"role": "model", "content": "<|channel>t<channel|>A"}, user(), model()],
    "answers in a row": [user(), model("one"), model("two"), user(), model("three")],
    # media
    "media between texts": [user([{"type": "text", "text": " a "}, {"type": "image"}, {"type": "text", "text": " b "},
                                  {"type": "audio"}, {"type": "video"}])],
    "media only": [user([{"type": "image"}])],
    "no parts": [user([])],
    "parts without text": [user([{"type": "text"}, {"type": "text", "text": None}, {"type": "text", "text": 1.5}])],
    "image in an answer with a call": [user(), model([{"type": "image"}], tool_calls=[call({})])],
    # thoughts
    "thought in history": [user(), model("<|channel>thought\nsecret\n<channel|>A"), user()],
    "thought not closed": [user(), model("A <|channel>thought\nsecret"), user()],
    "thought not opened": [user(), model("secret<channel|>A"), user()],
    "thoughts between texts": [user(), model("a<|channel>x<channel|>b<|channel>y<|channel>z<channel|>c<channel|>d"), user()],
    "reasoning without calls": [user(), model("A", reasoning="r"), user(), model("B", reasoning_content="r")],
    "reasoning before the last user": [user(), model("", reasoning_content="old", tool_calls=[call({}, id="c")]),
                                       tool("x", tool_call_id="c"), user(), model("", reasoning_content="new", tool_calls=[call({})])],
    "reasoning under both names": [user(), model("", reasoning="short", reasoning_content="long", tool_calls=[call({})])],
    "empty reasoning": [user(), model("", reasoning="", reasoning_content="", tool_calls=[call({})])],
    "thinking through two calls": [user(), model("", reasoning_content="first", tool_calls=[call({"n": 1}, id="a")]),
                                   tool("1", tool_call_id="a"), model("", reasoning_content="second", tool_calls=[call({"n": 2}, id="b")]),
                                   tool("2", tool_call_id="b"), model("done")],
    # arguments
    "quotes in arguments": with_arguments({"code": "print(\"\"\"it's \"fine\" \"\"\") # <|\"|>", "q": "'"}),
    "brackets in arguments": with_arguments({"s": "a}b]c,d{e[f:g"}),
    "line breaks in arguments": with_arguments({"s": "one\ntwo\r\n\tthree\\n"}),
    "nested arguments": with_arguments({"a": {"b": [{"c": [1, [2, {"d": []}], {}]}, "x"]}, "e": {}}),
    "constants in arguments": with_arguments({"n": None, "t": True, "f": False, "list": [None, True, False]}),
    "numbers in arguments": with_arguments({"a": 0, "b": -1, "c": 1.0, "d": 1e16, "e": 123456789.125, "f": 1e-5, "g": 0.0001, "h": -0.0,
                                            "i": 1e22, "j": 5e-324, "k": 9007199254740993}),
    "unicode in arguments": with_arguments({"город": "Ёлка", "étage": "日本", "🦙": "🦙"}),
    "order of keys": with_arguments({"b": 1, "B": 2, "a": 3, "C": 4, "Ä": 5, "ä": 6, "Я": 7, "а": 8, "_": 9, "1": 10, "Z": 11}),
    "no arguments": with_arguments({}),
    "null arguments": with_arguments(None),
    "arguments as text": with_arguments("{\"a\": \"b\"}"),
    "arguments as list": with_arguments([1, 2]),
    "no arguments at all": [user(), model("", tool_calls=[{"type": "function", "function": {"name": "f"}}])],
    "name with a namespace": [user(), model("", tool_calls=[call({"x": 1}, name="weather.v1:get")])],
    "empty call list": [user(), model("A", tool_calls=[])],
    "text and call": [user(), model(" I call. ", tool_calls=[call({"a": "b"})])],
    # responses
    "two calls, answers swapped": [user(), model("", tool_calls=[call({}, "f", id="1"), call({}, "g", id="2")]),
                                   tool("of g", tool_call_id="2"), tool("of f", tool_call_id="1"), model("done")],
    "two calls of one id": [user(), model("", tool_calls=[call({}, "f", id="1"), call({}, "g", id="1")]), tool("x", tool_call_id="1")],
    "calls without ids": [user(), model("", tool_calls=[call({}, "f"), call({}, "g")]), tool("x"), tool("y", name="n")],
    "answer by name": [user(), model("", tool_calls=[call({}, "f", id="1")]), tool("x", name="named", tool_call_id="other")],
    "answer without a call": [user(), tool("x", name="n"), model("A")],
    "answer in parts": [user(), model("", tool_calls=[call({}, id="1")]),
                        tool([{"type": "text", "text": " a "}, {"type": "image"}, {"type": "text", "text": "b"}], tool_call_id="1")],
    "answer of nothing": [user(), model(None, tool_calls=[call({}, id="1")]), tool("", tool_call_id="1")],
    "call, answer, text": [user(), model("after", tool_calls=[call({}, id="1")]), tool("x", tool_call_id="1"), user()],
    "native responses": [user(), model(None, tool_calls=[call({})],
                                       tool_responses=[{"name": "f", "response": {"B": "x", "a": [1, {"Q": None}]}},
                                                       {"name": "g", "response": "text"}, {"response": None}, {"name": "h"}])],
    "native responses and text": [user(), model("Sunny.", tool_calls=[call({})], tool_responses=[{"name": "f", "response": 1.5}])],
    "call after call": [user(), model("", tool_calls=[call({}, id="1")]), tool("x", tool_call_id="1"),
                        model("", tool_calls=[call({}, id="2")]), tool("y", tool_call_id="2"), model("A"), user()],
}

TOOLS = {
    "nothing but a name": [{"type": "function", "function": {"name": "f"}}],
    "no parameters": [function(parameters=schema({}))],
    "parameters without a type": [function(parameters={"properties": {"a": {"type": "string"}}, "required": ["a"]})],
    "scalars": [function(parameters=schema({"s": {"type": "string"}, "i": {"type": "integer", "description": "A number"},
                                            "b": {"type": "boolean", "nullable": True}, "n": {"type": "null"}}, ["s", "i"]))],
    "choices": [function(parameters=schema({"c": {"type": "string", "enum": ["a", "B", "\"q\"", None, 1]},
                                            "d": {"type": "integer", "enum": [1, 2], "description": "not shown"}}))],
    "lists": [function(parameters=schema({"l": {"type": "array", "items": {"type": "string", "enum": ["x"], "default": {"K": 1}}},
                                          "m": {"type": "array"}, "e": {"type": "array", "items": {}, "nullable": True}}))],
    "lists of objects": [function(parameters=schema({"l": {"type": "array", "description": "d", "items": schema(
        {"a": {"type": "array", "items": {"type": ["string", "null"]}}, "o": schema({"x": {"type": "number"}}, ["x"])}, ["a", "o"])}}))],
    "objects": [function(parameters=schema({"o": schema({"b": {"type": "string"}, "A": schema({})}, ["b"], description="d")}, []))],
    "an object without properties": [function(parameters=schema({"o": {"type": "object", "additionalProperties": False, "title": "T"}}))],
    "types in lists": [function(parameters=schema({"a": {"type": ["string", "null"], "description": "d"}, "b": {}, "c": {"type": None}}))],
    "parameters named like keywords": [function(parameters=schema({"type": {"type": "string"}, "description": {"type": "string"},
                                                                   "name": {"type": "string"}}))],
    "control tokens": [function("f", CONTROL, schema({CONTROL: {"type": "string", "description": CONTROL, "enum": [CONTROL]}}, [CONTROL]))],
    "responses": [function(response={"description": "r", "type": "object"}), function("g", response={"type": "string"}),
                  function("h", response=None)],
    "order": [function(parameters=schema({"b": {"type": "string"}, "A": {"type": "string"}, "Я": {"type": "string"},
                                          "а": {"type": "string"}, "B": {"type": "string"}}))],
    "unusual values": [function(None, 3, schema({"a": True, "b": "text", "c": {"type": 5, "description": ["x"]}, "d": None}, [1, None]))],
}

ATOMS = ["a", "Paris", "", "  ", "\n", " x ", "é", "Имя", "日本", "🦙", "\u00a0", "\\", "'", '"', "<|\"|>", "<|channel>", "<channel|>",
         "<turn|>", "{", "}", "]", ",", ":", "None"]
KEYS = ["a", "b", "A", "B", "é", "É", "имя", "Город", "unit", "", "type", "items", "required", "x y"]
TYPES = ["string", "object", "array", "integer", "OBJECT", "Array", ["string", "null"], None]


class Random:
    def __init__(self, seed):
        self.r = random.Random(seed)

    def text(self):
        return "".join(self.r.choice(ATOMS) for _ in range(self.r.randrange(5)))

    def some(self, make, most=4):
        return [make() for _ in range(self.r.randrange(most))]

    def value(self, depth=0):
        kind = self.r.randrange(7 if depth < 3 else 5)
        if kind == 6:
            return self.members(lambda: self.value(depth + 1))
        if kind == 5:
            return self.some(lambda: self.value(depth + 1))
        return [self.text(), self.text(), self.r.randrange(-99, 99), round(self.r.uniform(-9, 9), 3), self.r.choice([True, False, None])][kind]

    def members(self, make):
        return {self.r.choice(KEYS): make() for _ in range(self.r.randrange(4))}

    def sometimes(self, target, key, make, chance=0.4):
        if self.r.random() < chance:
            target[key] = make()

    def schema(self, depth=0):
        result = {"type": self.r.choice(TYPES)}
        self.sometimes(result, "description", self.text)
        self.sometimes(result, "nullable", lambda: self.r.choice([True, False]), 0.2)
        self.sometimes(result, "enum", lambda: self.some(self.text), 0.2)
        self.sometimes(result, "required", lambda: self.some(lambda: self.r.choice(KEYS)))
        if depth < 3:
            self.sometimes(result, "properties", lambda: self.members(lambda: self.schema(depth + 1)))
            self.sometimes(result, "items", lambda: self.schema(depth + 1))
        return dict(sorted(result.items(), key=lambda _: self.r.random()))

    def message(self, following):
        role = self.r.choice(["user", "assistant", "assistant", "system"])
        message = {"role": role}
        if role != "assistant":
            self.sometimes(message, "content", lambda: self.r.choice([self.text(), [{"type": "text", "text": self.text()}, {"type": "image"}]]), 0.95)
            return message
        self.sometimes(message, "content", lambda: self.r.choice([self.text(), None, [{"type": "text", "text": self.text()}]]), 0.9)
        self.sometimes(message, "reasoning_content", self.text)
        self.sometimes(message, "reasoning", self.text, 0.2)
        calls = [call(self.members(self.value), self.r.choice(["f", "g.h"]), id=f"c{i}") for i in range(self.r.randrange(3))]
        if calls:
            message["tool_calls"] = calls
            following += [tool(self.text(), tool_call_id=c["id"]) for c in calls if self.r.random() < 0.8]
        return message

    def conversation(self):
        messages = []
        for _ in range(1 + self.r.randrange(5)):
            following = []
            messages.append(self.message(following))
            messages += following
        return messages

    def tools(self):
        return [function(parameters=schema(self.members(self.schema), self.some(lambda: self.r.choice(KEYS))))
                for _ in range(self.r.randrange(3))]


def main(plain, interleaved):
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])
    templates = {}
    for name, path in ("plain", plain), ("interleaved", interleaved):
        with open(path, encoding="utf-8") as file:
            templates[name] = environment.from_string(file.read())
    rows = []

    def add(name, messages, tools, prompt, **options):
        for template, compiled in templates.items():
            row = {"name": name, "template": template, "messages": messages, "tools": tools, "add_generation_prompt": prompt, **options}
            rows.append(row | {"expected": compiled.render(messages=messages, tools=tools, add_generation_prompt=prompt,
                                                           bos_token="<bos>", **options)})

    for name, messages in CONVERSATIONS.items():
        add(name, messages, None, True)
        add(name, messages, None, False, enable_thinking=True)
    for name, tools in TOOLS.items():
        add("tools: " + name, [user()], tools, True, enable_thinking=False)
    for seed in range(40):
        r = Random(seed)
        add(f"random {seed}", r.conversation(), r.tools(), r.r.random() < 0.5, enable_thinking=r.r.random() < 0.5)
    print("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
