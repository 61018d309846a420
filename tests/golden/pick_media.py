#!/usr/bin/env python3
"""Picks from the media models' goldens what the tests compare with, for pack_media.sh: pick_media.py SOURCE TARGET

All of a tower's outputs; of the logits the last rows, which depend on all before them, and every eighth of the others.
"""
import json
import struct
import sys


def pick(name, rows):
    """The rows to keep of a tensor, or none for all."""
    if not name.endswith((".logits", ".logits_tail")):
        return None
    return [i for i in range(rows) if i % 8 == 0 or i >= rows - 4]


def wanted(name):
    kind = name.split(".", 1)[1]
    if name.startswith("prompt7") or name.startswith("aud1") or name.startswith("img."):
        return False
    return kind in ("rgb", "pcm", "mel", "tower", "projected", "ids", "logits", "logits_tail") and name != "audio1.mel"


source = open(sys.argv[1], "rb").read()
length = struct.unpack_from("<Q", source)[0]
header = json.loads(source[8:8 + length])
picked, data = {}, b""
for name in sorted(header):
    if name == "__metadata__" or not wanted(name):
        continue
    entry = header[name]
    begin, end = (8 + length + offset for offset in entry["data_offsets"])
    values, shape = source[begin:end], entry["shape"]
    rows = pick(name, shape[0])
    if rows is not None:
        width = len(values) // shape[0]
        values, shape = b"".join(values[i * width:(i + 1) * width] for i in rows), [len(rows), *shape[1:]]
    picked[name] = {"dtype": entry["dtype"], "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
    data += values
text = json.dumps(picked, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + data)
