#!/usr/bin/env python3
"""Writes an mmproj file of the released sizes with random weights, to time encoding, never to judge what comes out.

    pip install gguf numpy
    synthetic_mmproj.py OUT [--type f16|q8_0] [--text-hidden 1536] [--vision-only]
"""
import argparse

import gguf
import numpy as np

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("out")
parser.add_argument("--type", choices=("f16", "q8_0"), default="f16", help="of the matrices; what has no columns in 32s stays f16")
parser.add_argument("--text-hidden", type=int, default=1536)
parser.add_argument("--vision-only", action="store_true")
options = parser.parse_args()
random = np.random.default_rng(1)
writer = gguf.GGUFWriter(options.out, "clip")
writer.add_string("general.type", "mmproj")
writer.add_uint32("general.file_type", {"f16": 1, "q8_0": 7}[options.type])


def matrix(name, *shape, dtype=np.float16):
    fan_in = int(np.prod(shape[1:]))
    values = random.standard_normal(shape, dtype=np.float32) / fan_in**0.5
    if options.type == "q8_0" and dtype == np.float16 and len(shape) == 2:
        kind = gguf.GGMLQuantizationType.Q8_0
        writer.add_tensor(name + ".weight", gguf.quants.quantize(values, kind), raw_dtype=kind)
    else:
        writer.add_tensor(name + ".weight", values.astype(dtype))


def norms(prefix, size, *names):
    for name in names:
        writer.add_tensor(prefix + name + ".weight", np.ones(size, dtype=np.float32))


def clipped(name, rows, cols):
    matrix(name, rows, cols)
    for bound, value in (("input_min", -50), ("input_max", 50), ("output_min", -50), ("output_max", 50)):
        writer.add_tensor(f"{name}.{bound}", np.array([value], dtype=np.float32))


def sizes(tower, hidden, ffn, layers, heads):
    prefix = f"clip.{tower}."
    writer.add_bool(f"clip.has_{tower}_encoder", True)
    for key, value in (("projection_dim", options.text_hidden), ("embedding_length", hidden), ("feed_forward_length", ffn),
                       ("block_count", layers), ("attention.head_count", heads)):
        writer.add_uint32(prefix + key, value)
    writer.add_float32(prefix + "attention.layer_norm_epsilon", 1e-6)


H, F, LAYERS, HEADS = 768, 3072, 16, 12
sizes("vision", H, F, LAYERS, HEADS)
writer.add_string("clip.vision.projector_type", "gemma4v")
writer.add_uint32("clip.vision.image_size", 224)
writer.add_uint32("clip.vision.patch_size", 16)
writer.add_array("clip.vision.image_mean", [0.0, 0.0, 0.0])
writer.add_array("clip.vision.image_std", [1.0, 1.0, 1.0])
matrix("v.patch_embd", H, 3, 16, 16)
matrix("v.position_embd", 2, 10240, H, dtype=np.float32)
matrix("mm.input_projection", options.text_hidden, H)
for i in range(LAYERS):
    blk = f"v.blk.{i}."
    norms(blk, H, "ln1", "ln2", "attn_post_norm", "ffn_post_norm")
    norms(blk, H // HEADS, "attn_q_norm", "attn_k_norm")
    for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
        clipped(blk + name, H, H)
    for name, rows, cols in (("ffn_gate", F, H), ("ffn_up", F, H), ("ffn_down", H, F)):
        clipped(blk + name, rows, cols)

if not options.vision_only:
    H, F, LAYERS, HEADS, OUT = 1024, 4096, 12, 8, 1536
    sizes("audio", H, F, LAYERS, HEADS)
    writer.add_string("clip.audio.projector_type", "gemma4a")
    writer.add_uint32("clip.audio.num_mel_bins", 128)
    matrix("a.conv1d.0", 128, 1, 3, 3, dtype=np.float32)
    matrix("a.conv1d.1", 32, 128, 3, 3, dtype=np.float32)
    norms("a.conv1d.0.", 128, "norm")
    norms("a.conv1d.1.", 32, "norm")
    matrix("a.input_projection", H, 1024)
    matrix("a.pre_encode.out", OUT, H)
    writer.add_tensor("a.pre_encode.out.bias", np.zeros(OUT, dtype=np.float32))
    matrix("mm.a.input_projection", options.text_hidden, OUT)
    for i in range(LAYERS):
        blk = f"a.blk.{i}."
        norms(blk, H, "ffn_norm", "ffn_norm_1", "ffn_post_norm", "ffn_post_norm_1", "attn_pre_norm", "attn_post_norm", "conv_norm",
              "norm_conv", "ln2")
        norms(blk, H // HEADS, "per_dim_scale")
        for end in ("", "_1"):
            clipped(blk + "ffn_up" + end, F, H)
            clipped(blk + "ffn_down" + end, H, F)
        for name in ("attn_q", "attn_k", "attn_v", "attn_out", "conv_pw2"):
            clipped(blk + name, H, H)
        clipped(blk + "conv_pw1", 2 * H, H)
        matrix(blk + "attn_k_rel", H, H)
        matrix(blk + "conv_dw", H, 5, dtype=np.float32)

writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
