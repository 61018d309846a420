#!/usr/bin/env python3
"""Writes an mmproj file with every tensor whose values bfloat16 holds exactly as BF16: narrow_mmproj.py SOURCE TARGET

Made examples/models/mmproj-g4-demo-bf16.gguf from the demo model's F32 file.
"""
import struct
import sys

F32, BF16, ALIGNMENT = 0, 30, 32
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9

data = open(sys.argv[1], "rb").read()
tensor_count, key_count = struct.unpack_from("<QQ", data, 8)
at = 24


def string_end(position):
    return position + 8 + struct.unpack_from("<Q", data, position)[0]


def value_end(kind, position):
    if kind == STRING:
        return string_end(position)
    if kind != ARRAY:
        return position + SIZES[kind]
    element, count = struct.unpack_from("<IQ", data, position)
    position += 12
    for _ in range(count):
        position = value_end(element, position)
    return position


for _ in range(key_count):
    at = string_end(at)
    at = value_end(struct.unpack_from("<I", data, at)[0], at + 4)
head = data[:at]

tensors = []
for _ in range(tensor_count):
    begin, at = at, string_end(at)
    rank = struct.unpack_from("<I", data, at)[0]
    dims = struct.unpack_from(f"<{rank}Q", data, at + 4)
    at += 4 + 8 * rank
    kind, offset = struct.unpack_from("<IQ", data, at)
    tensors.append((data[begin:at], dims, kind, offset))
    at += 12
start = -(-at // ALIGNMENT) * ALIGNMENT

table, body = b"", b""
for name_and_shape, dims, kind, offset in tensors:
    count = 1
    for dim in dims:
        count *= dim
    assert kind == F32
    values = data[start + offset:start + offset + 4 * count]
    if count > 1 and not any(values[0::4]) and not any(values[1::4]):
        values, kind = b"".join(values[i + 2:i + 4] for i in range(0, len(values), 4)), BF16
    table += name_and_shape + struct.pack("<IQ", kind, len(body))
    body += values + b"\0" * (-len(values) % ALIGNMENT)
head += table
open(sys.argv[2], "wb").write(head + b"\0" * (-len(head) % ALIGNMENT) + body)
