"""GGUF version 3, as far as the benchmarks need it: writing a model whose tensors come in pieces, finding a tensor in a file."""
import os
import struct

ALIGNMENT = 32
U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
SCALAR_FORMATS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", U32: "<I", I32: "<i", F32: "<f", BOOL: "<?", 10: "<Q", 11: "<q", 12: "<d"}
# Tensor type: (number, values in a block, bytes of a block).
TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q8_0": (8, 32, 34), "Q6_K": (14, 256, 210)}


def aligned(size):
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def tensor_bytes(kind, shape):
    """shape: [rows, columns] or [columns], as in this project; the file has them the other way round."""
    _, block, size = TYPES[kind]
    count = 1
    for dimension in shape:
        count *= dimension
    assert shape[-1] % block == 0
    return count // block * size


class Writer:
    """Collects metadata and the list of tensors, then writes the file."""

    def __init__(self):
        self._metadata, self._tensors = [], []

    def add(self, key, kind, value):
        self._metadata.append(_string(key) + struct.pack("<I", kind) + _value(kind, value))

    def add_array(self, key, kind, values):
        if kind == STRING:
            data = b"".join(map(_string, values))
        else:
            data = struct.pack(f"<{len(values)}{SCALAR_FORMATS[kind][1]}", *values)
        self._metadata.append(_string(key) + struct.pack("<IIQ", ARRAY, kind, len(values)) + data)

    def add_tensor(self, name, kind, shape, pieces):
        """pieces(size): yields the tensor's bytes, `size` in all."""
        self._tensors.append((name, kind, shape, pieces))

    def write(self, path, on_progress=lambda done, total: None):
        """The file is there whole or not at all."""
        unfinished = path + ".unfinished"
        try:
            with open(unfinished, "wb") as file:
                self._write(file, on_progress)
            os.replace(unfinished, path)
        except BaseException:
            if os.path.exists(unfinished):
                os.remove(unfinished)
            raise

    def _write(self, file, on_progress):
        head = struct.pack("<4sIQQ", b"GGUF", 3, len(self._tensors), len(self._metadata)) + b"".join(self._metadata)
        total = 0
        for name, kind, shape, _ in self._tensors:
            head += _string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), TYPES[kind][0], total)
            total += aligned(tensor_bytes(kind, shape))
        file.write(head.ljust(aligned(len(head)), b"\0"))
        done = 0
        for _, kind, shape, pieces in self._tensors:
            size = tensor_bytes(kind, shape)
            for piece in pieces(size):
                done += file.write(piece)
                on_progress(done, total)
            done += file.write(bytes(aligned(size) - size))


def find_tensor(path, wanted):
    """(offset, size) of a tensor in the file, its size up to where the next begins; None if there is no such tensor."""
    with open(path, "rb") as file:
        magic, version, tensor_count, metadata_count = _read(file, "<4sIQQ")
        if (magic, version) != (b"GGUF", 3):
            raise ValueError(f"{path} is no GGUF file of version 3")
        alignment = ALIGNMENT
        for _ in range(metadata_count):
            key = _read_string(file)
            value = _read_value(file, *_read(file, "<I"))
            if key == b"general.alignment":
                alignment = value
        offsets = {}
        for _ in range(tensor_count):
            name = _read_string(file)
            _read(file, f"<{_read(file, '<I')[0]}Q")
            offsets[name] = _read(file, "<IQ")[1]
        begin = (file.tell() + alignment - 1) // alignment * alignment
        end = file.seek(0, 2) - begin
    if wanted.encode() not in offsets:
        return None
    offset = offsets[wanted.encode()]
    following = min((other for other in offsets.values() if other > offset), default=end)
    return begin + offset, following - offset


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(kind, value):
    return _string(value) if kind == STRING else struct.pack(SCALAR_FORMATS[kind], value)


def _read(file, layout):
    data = file.read(struct.calcsize(layout))
    if len(data) < struct.calcsize(layout):
        raise ValueError(f"{file.name} is cut off")
    return struct.unpack(layout, data)


def _read_string(file):
    return file.read(_read(file, "<Q")[0])


def _read_value(file, kind):
    if kind == STRING:
        return _read_string(file)
    if kind != ARRAY:
        return _read(file, SCALAR_FORMATS[kind])[0]
    kind, count = _read(file, "<IQ")
    if kind == STRING:
        return [_read_string(file) for _ in range(count)]
    file.seek(count * struct.calcsize(SCALAR_FORMATS[kind]), 1)
    return None
