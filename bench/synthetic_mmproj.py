#!/usr/bin/env python3
"""Writes an mmproj file of the released sizes with random weights, to time encoding, never to judge what comes out.

    bench/synthetic_mmproj.py mmproj.gguf [--type f16|q8_0] [--text-hidden N]

About 1 GB in F16. The type is that of the matrices of the layers; convolutions and norms are F32, the embedding of patches F16.
"""
import argparse
import struct

import gguf_file
from gguf_file import BOOL, F32, STRING, U32
from synthetic import Weights

TEXT_HIDDEN, BINS, POSITIONS = 1536, 128, 10240
VISION = {"hidden": 768, "ffn": 3072, "layers": 16, "heads": 12}
AUDIO = {"hidden": 1024, "ffn": 4096, "layers": 12, "heads": 8}
AUDIO_OUTPUTS, CHANNELS = 1536, (128, 32)


class Towers:
    """Adds tensors to a writer."""

    def __init__(self, writer, kind):
        self._writer, self._kind, self._weights = writer, kind, Weights()

    def _random(self, kind, shape):
        fan_in = 1
        for dimension in shape[1:]:
            fan_in *= dimension
        return self._weights.floats("e", fan_in ** -0.5) if kind == "F16" else self._weights.quantised(kind, fan_in ** -0.5)

    def matrix(self, name, *shape, kind=None):
        kind = kind or self._kind
        self._writer.add_tensor(name + ".weight", kind, list(shape), self._random(kind, shape))

    def floats(self, name, *shape):
        """Convolutions, positions."""
        self._writer.add_tensor(name + ".weight", "F32", list(shape), self._weights.floats("f", 0.1))

    def norms(self, prefix, count, *names):
        for name in names:
            self._writer.add_tensor(prefix + name + ".weight", "F32", [count], self._weights.norm(count))

    def value(self, name, number, count=1):
        data = struct.pack("<f", number) * count
        self._writer.add_tensor(name, "F32", [count], lambda _: [data])

    def clipped(self, name, rows, columns):
        self.matrix(name, rows, columns)
        for end in ("input", "output"):
            self.value(f"{name}.{end}_min", -50.0)
            self.value(f"{name}.{end}_max", 50.0)


def add_sizes(writer, tower, size, text_hidden, projector):
    prefix = f"clip.{tower}."
    writer.add(f"clip.has_{tower}_encoder", BOOL, True)
    writer.add(prefix + "projector_type", STRING, projector)
    for key, value in {"projection_dim": text_hidden, "embedding_length": size["hidden"], "feed_forward_length": size["ffn"],
                       "block_count": size["layers"], "attention.head_count": size["heads"]}.items():
        writer.add(prefix + key, U32, value)
    writer.add(prefix + "attention.layer_norm_epsilon", F32, 1e-6)


def add_vision(writer, towers, text_hidden):
    hidden, ffn, heads = VISION["hidden"], VISION["ffn"], VISION["heads"]
    add_sizes(writer, "vision", VISION, text_hidden, "gemma4v")
    writer.add("clip.vision.image_size", U32, 224)
    writer.add("clip.vision.patch_size", U32, 16)
    writer.add_array("clip.vision.image_mean", F32, [0.0] * 3)
    writer.add_array("clip.vision.image_std", F32, [1.0] * 3)
    towers.matrix("v.patch_embd", hidden, 3, 16, 16, kind="F16")
    towers.floats("v.position_embd", 2, POSITIONS, hidden)
    towers.matrix("mm.input_projection", text_hidden, hidden)
    for i in range(VISION["layers"]):
        layer = f"v.blk.{i}."
        towers.norms(layer, hidden, "ln1", "ln2", "attn_post_norm", "ffn_post_norm")
        towers.norms(layer, hidden // heads, "attn_q_norm", "attn_k_norm")
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            towers.clipped(layer + name, hidden, hidden)
        for name in ("ffn_gate", "ffn_up"):
            towers.clipped(layer + name, ffn, hidden)
        towers.clipped(layer + "ffn_down", hidden, ffn)


def add_audio(writer, towers, text_hidden):
    hidden, ffn, heads = AUDIO["hidden"], AUDIO["ffn"], AUDIO["heads"]
    add_sizes(writer, "audio", AUDIO, text_hidden, "gemma4a")
    writer.add("clip.audio.num_mel_bins", U32, BINS)
    for i, (outputs, inputs) in enumerate(zip(CHANNELS, (1, CHANNELS[0]))):
        towers.floats(f"a.conv1d.{i}", outputs, inputs, 3, 3)
        towers.norms(f"a.conv1d.{i}.", outputs, "norm")
    towers.matrix("a.input_projection", hidden, BINS // 4 * CHANNELS[1])
    towers.matrix("a.pre_encode.out", AUDIO_OUTPUTS, hidden)
    towers.value("a.pre_encode.out.bias", 0.0, AUDIO_OUTPUTS)
    towers.matrix("mm.a.input_projection", text_hidden, AUDIO_OUTPUTS)
    for i in range(AUDIO["layers"]):
        layer = f"a.blk.{i}."
        towers.norms(layer, hidden, "ffn_norm", "ffn_norm_1", "ffn_post_norm", "ffn_post_norm_1", "attn_pre_norm", "attn_post_norm",
                     "conv_norm", "norm_conv", "ln2")
        towers.norms(layer, hidden // heads, "per_dim_scale")
        for end in ("", "_1"):
            towers.clipped(f"{layer}ffn_up{end}", ffn, hidden)
            towers.clipped(f"{layer}ffn_down{end}", hidden, ffn)
        for name in ("attn_q", "attn_k", "attn_v", "attn_out", "conv_pw2"):
            towers.clipped(layer + name, hidden, hidden)
        towers.clipped(layer + "conv_pw1", 2 * hidden, hidden)
        towers.matrix(layer + "attn_k_rel", hidden, hidden)
        towers.floats(layer + "conv_dw", hidden, 5)


def write_mmproj(path, kind, text_hidden=TEXT_HIDDEN):
    """kind: F16 or Q8_0. The file is there whole or not at all."""
    writer = gguf_file.Writer()
    writer.add("general.architecture", STRING, "clip")
    writer.add("general.type", STRING, "mmproj")
    writer.add("general.file_type", U32, {"F16": 1, "Q8_0": 7}[kind])
    towers = Towers(writer, kind)
    add_vision(writer, towers, text_hidden)
    add_audio(writer, towers, text_hidden)
    writer.write(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", metavar="FILE")
    parser.add_argument("--type", choices=("f16", "q8_0"), default="f16", help="of the matrices")
    parser.add_argument("--text-hidden", type=int, metavar="N", default=TEXT_HIDDEN, help="width of the text model's embeddings")
    options = parser.parse_args()
    write_mmproj(options.path, options.type.upper(), options.text_hidden)


if __name__ == "__main__":
    main()
