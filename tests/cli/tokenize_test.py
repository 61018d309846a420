#!/usr/bin/env python3
"""g4 tokenize: round trips, and each way to write ids."""
import json

from harness import DEMO, answer, expect, expect_equal, expect_failure, g4, main, reference_model, source_path, test

TEXTS = ["The fox, 27 + 36?", " leading and  double spaces ", "line\nline\r\n\ttab", "Zürich 日本 \U0001f98a e\u0301", "<bos><|turn>user", "\x00\x07"]


@test
def text_comes_back_as_it_was():
    for text in TEXTS:
        ids = answer("tokenize", stdin=text.encode())
        expect_equal(g4("tokenize", "--decode", "-", stdin=ids.encode()).stdout, text.encode())
        expect_equal(g4("tokenize", "--decode", ids.strip()).stdout, text.encode())


@test
def bytes_come_back_as_they_were():
    every_byte = bytes(range(256))
    expect_equal(g4("tokenize", "--decode", "-", stdin=g4("tokenize", stdin=every_byte).stdout).stdout, every_byte)


@test
def control_tokens_count_only_when_asked():
    expect(len(answer("tokenize", "-p", "<bos>").split()) > 1, "<bos> in a text is text")
    expect_equal(answer("tokenize", "-p", "<bos>", "--special"), "2\n")
    expect_equal(answer("tokenize", "-p", "", "--bos"), "2\n")
    expect_equal(g4("tokenize", "--decode", "2 17", "--special").stdout, b"<bos><turn|>")
    expect_equal(g4("tokenize", "--decode", "2 17").stdout, b"")


@test
def json_and_pieces():
    text = "a fox \U0001f98a"
    ids = [int(word) for word in answer("tokenize", "-p", text).split()]
    value = json.loads(answer("tokenize", DEMO, "-p", text, "--json", "--pieces"))
    expect_equal(value["ids"], ids)
    expect_equal(value["count"], len(ids))
    expect_equal(len(value["pieces"]), len(ids))
    lines = answer("tokenize", "-p", text, "--pieces").splitlines()
    expect_equal([int(line.split()[0]) for line in lines], ids)
    expect_equal(json.loads(answer("tokenize", "--decode", str(ids), "--json"))["text"], text)


@test
def the_ids_are_those_of_the_reference():
    model = reference_model("tiny", "e2b-tiny", "model.gguf")
    with open(source_path("tests", "golden", "tokenizer", "tiny.json"), encoding="utf-8") as file:
        rows = json.load(file)
    expect(len(rows) >= 20, f"only {len(rows)} rows")
    for row in rows:
        ids = answer("tokenize", model, "--special", stdin=row["text"].encode())
        expect_equal([int(word) for word in ids.split()], row["ids"])


@test
def wrong_ids_are_refused():
    expect_failure(g4("tokenize", "--decode", "5 x"), 2, "'x'")
    expect_failure(g4("tokenize", "--decode", "99999999999"), 2, "99999999999")
    expect_failure(g4("tokenize", "--decode", "2048"), 1, "2048")
    expect_failure(g4("tokenize", "--decode", "-5"), 1, "-5")


main()
