#!/usr/bin/env python3
"""Pictures and sounds on the command line: the demo model's answers, chat, files that are none."""
import json
import os
import struct
import tempfile

from harness import answer, expect, expect_equal, expect_failure, g4, main, reference_model, source_path, test

MEDIA = source_path("examples", "media")
TOWERS = source_path("examples", "models", "mmproj-g4-demo-bf16.gguf")
CIRCLE = os.path.join(MEDIA, "red-circle-dark-blue.png")
RISING = os.path.join(MEDIA, "rising.wav")


def cases():
    with open(reference_model("demo", "expected.json"), encoding="utf-8") as file:
        found = [case for case in json.load(file)["cases"] if "image" in case or "audio" in case]
    expect_equal(len(found), 16)
    return found


def ask(case, *options):
    kind = "image" if "image" in case else "audio"
    question = case["messages"][0]["content"][1]["text"]
    file = os.path.join(MEDIA, os.path.basename(case[kind]))
    return answer("run", *options, "--greedy", f"--{kind}", file, "-p", question)


@test
def the_f32_files_answer_as_the_reference():
    exact = (reference_model("demo", "g4-demo-f32.gguf"), "--mmproj", TOWERS, "--image-tokens", "70", "--precision", "f32",
             "--kv-type", "f32")
    for case in cases():
        expect_equal((case["id"], ask(case, *exact)), (case["id"], case["answer"] + "\n"))


@test
def the_bundled_files_answer_the_same():
    for case in cases():
        expect_equal((case["id"], ask(case)), (case["id"], case["answer"] + "\n"))


@test
def a_chat_sees_and_hears():
    lines = f"/image {CIRCLE}\nWhat do you see?\nWhat shape is it?\n/reset\n/audio {RISING}\nWhat do you hear?\n"
    expect_equal(answer("chat", "--greedy", stdin=lines.encode()),
                 "A red circle on a dark blue background.\nThe shape is a circle.\nA rising chirp.\n")
    expect_equal(answer("chat", "--greedy", "--image", CIRCLE, stdin=b"What shape is it?\n"), "The shape is a circle.\n")


@test
def a_chat_goes_on_after_a_file_that_is_none():
    result = g4("chat", "--greedy", stdin=f"/image {RISING}\n/audio nowhere.wav\nWhat is 8 + 5?\n".encode())
    expect_equal(result.stdout.decode(), "8 + 5 = 13\n")
    for word in ("neither a PNG nor a JPEG", "nowhere.wav: cannot be read"):
        expect(word in result.stderr.decode(), f"{word} is not on standard error")


@test
def a_cache_tells_pictures_apart():
    with tempfile.TemporaryDirectory() as folder:
        cache = os.path.join(folder, "cache")
        other = os.path.join(MEDIA, "yellow-triangle-black.png")
        for _ in range(2):
            for picture, seen in ((CIRCLE, "A red circle on a dark blue background.\n"),
                                  (other, "A yellow triangle on a black background.\n")):
                expect_equal(answer("run", "--greedy", "--cache-dir", cache, "--image", picture, "-p", "What do you see?"), seen)


@test
def a_model_without_towers_says_so():
    expect_failure(g4("run", reference_model("demo", "g4-demo-f32.gguf"), "--image", CIRCLE, "-p", "Hi"), 1, "mmproj")


@test
def long_sounds_are_split_where_asked():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "long.wav")
        data = b"\0\0" * (31 * 16000)
        with open(path, "wb") as file:
            file.write(b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " +
                       struct.pack("<IHHIIHH", 16, 1, 1, 16000, 32000, 2, 16) + b"data" + struct.pack("<I", len(data)) + data)
        expect_failure(g4("run", "--audio", path, "-p", "Hi"), 1, "31 s", "30 s")
        result = g4("chat", "--split-audio", stdin=f"/audio {path}\n".encode())
        expect("clips of 0.0-15.5 s, 15.5-31.0 s" in result.stderr.decode(), result.stderr.decode())


@test
def files_that_are_none_are_named():
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("empty", b""), ("text", b"hello"), ("cut.png", open(CIRCLE, "rb").read()[:200]),
                              ("bomb.png", b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 60000, 60000, 8, 2, 0, 0, 0)
                               + struct.pack(">I", 0x7E1CB7E6))):
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(content)
            expect_failure(g4("run", "--image", path, "-p", "Hi"), 1, name)
            expect_failure(g4("run", "--audio", path, "-p", "Hi"), 1, name)
        expect_failure(g4("run", "--image", folder, "-p", "Hi"), 1, folder)


main()
