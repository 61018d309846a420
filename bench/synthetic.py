#!/usr/bin/env python3
"""Writes a Gemma 4 model with random weights, to measure speed and memory: the text it writes is noise.

    bench/synthetic.py e2b model.gguf [--layers N] [--vocab N]

Shapes, tensor types and file size are those of the official Q4_0 releases (E2B 3.1 GiB, E4B 4.8 GiB): token and per-layer embeddings in
Q6_K, the projection of the per-layer embeddings in F16, norms in F32, all else in Q4_0. Half a million merges make the vocabulary as
slow to load as the real one. The same arguments give the same file.
"""
import argparse
import itertools
import random
import string
import struct
import sys

import gguf_file
from gguf_file import BOOL, F32, I32, STRING, U32

SIZES = {
    "e2b": {"layers": 35, "shared": 20, "period": 5, "hidden": 1536, "ffn": 6144, "double_wide": True, "kv_heads": 1},
    "e4b": {"layers": 42, "shared": 18, "period": 6, "hidden": 2560, "ffn": 10240, "double_wide": False, "kv_heads": 2},
}
HEADS, HEAD_SIZE, FULL_HEAD_SIZE, WINDOW, PLE_SIZE = 8, 256, 512, 512, 256
VOCABULARY = 262144
CONTROL_TOKENS = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<|tool>", "<tool|>", "<|tool_call>", "<tool_call|>", "<|tool_response>",
                  "<tool_response|>", '<|"|>', "<|think|>", "<|channel>", "<channel|>", "<|turn>", "<turn|>", "<|image>", "<image|>",
                  "<|image|>", "<|audio>", "<audio|>", "<|audio|>", "<|video|>"]
NORMAL, CONTROL, BYTE = 1, 3, 6
SPACE = "▁"
POOL_BLOCKS = 65521  # a prime number: rows that come round again begin at another block


def vocabulary(count):
    """(tokens, types, merges): characters, then words of two letters, three, ..., each with and without a space in front."""
    characters = ["\n", SPACE] + [chr(code) for code in range(33, 127)]
    tokens = CONTROL_TOKENS + [f"<0x{byte:02X}>" for byte in range(256)] + characters
    types = [CONTROL] * len(CONTROL_TOKENS) + [BYTE] * 256 + [NORMAL] * len(characters)
    if count < len(tokens):
        sys.exit(f"a vocabulary has at least {len(tokens)} tokens")
    words = (start + "".join(letters) for length in range(1, 9) for letters in itertools.product(string.ascii_lowercase, repeat=length)
             for start in (SPACE, "") if length > 1 or start)
    merges = []
    for word in itertools.islice(words, count - len(tokens)):
        tokens.append(word)
        merges += [f"{word[:at]} {word[at:]}" for at in {1, len(word) - 1}]
    return tokens, types + [NORMAL] * (count - len(types)), merges


class Weights:
    """Random blocks of the tensor types, cut out of one pool per type and scale."""

    def __init__(self):
        self._pools, self._random = {}, random.Random(2)

    def quantised(self, kind, deviation):
        """Pieces of a tensor whose weights have about this standard deviation."""
        key = (kind, deviation)
        if key not in self._pools:
            _, _, size = gguf_file.TYPES[kind]
            pool = bytearray(self._random.randbytes(POOL_BLOCKS * size))
            at, spread = {"Q4_0": (0, 4.6), "Q8_0": (0, 73.9), "Q6_K": (208, 18.5)}[kind]  # of the scale, of what it scales
            low, high = struct.pack("<e", deviation / spread)
            pool[at::size], pool[at + 1::size] = bytes([low]) * POOL_BLOCKS, bytes([high]) * POOL_BLOCKS
            for at in range(192, 208) if kind == "Q6_K" else ():  # the scales of its 16 groups
                pool[at::size] = b"\1" * POOL_BLOCKS
            self._pools[key] = bytes(pool)
        return lambda size: self._repeat(self._pools[key], gguf_file.TYPES[kind][2], size)

    def _repeat(self, pool, block, size):
        at = self._random.randrange(POOL_BLOCKS) * block
        while size > 0:
            piece = pool[at:at + size]
            yield piece
            size, at = size - len(piece), 0

    def floats(self, code, deviation):
        """code: "e" for F16, "f" for F32."""
        pool = struct.pack(f"<32749{code}", *(self._random.gauss(0, deviation) for _ in range(32749)))
        return lambda size: self._repeat_bytes(pool, size)

    def norm(self, count, center=1.0):
        data = struct.pack(f"<{count}f", *(self._random.gauss(center, 0.1) for _ in range(count)))
        return lambda size: [data]

    @staticmethod
    def _repeat_bytes(pool, size):
        for begin in range(0, size, len(pool)):
            yield pool[:size - begin]


def add_metadata(writer, size, is_full, vocab_count):
    layers, first_shared = size["layers"], size["layers"] - size["shared"]
    wide = [size["double_wide"] and layer >= first_shared for layer in range(layers)]
    writer.add("general.architecture", STRING, "gemma4")
    writer.add("general.name", STRING, size["name"])
    for key, value in {"general.file_type": 2, "general.quantization_version": 2, "gemma4.block_count": layers,
                       "gemma4.context_length": 131072, "gemma4.embedding_length": size["hidden"],
                       "gemma4.attention.head_count": HEADS, "gemma4.attention.key_length": FULL_HEAD_SIZE,
                       "gemma4.attention.value_length": FULL_HEAD_SIZE, "gemma4.attention.key_length_swa": HEAD_SIZE,
                       "gemma4.attention.value_length_swa": HEAD_SIZE, "gemma4.rope.dimension_count": FULL_HEAD_SIZE,
                       "gemma4.rope.dimension_count_swa": HEAD_SIZE, "gemma4.attention.sliding_window": WINDOW,
                       "gemma4.attention.shared_kv_layers": size["shared"],
                       "gemma4.embedding_length_per_layer_input": PLE_SIZE}.items():
        writer.add(key, U32, value)
    for key, value in {"gemma4.rope.freq_base": 1e6, "gemma4.rope.freq_base_swa": 1e4, "gemma4.final_logit_softcapping": 30.0,
                       "gemma4.attention.layer_norm_rms_epsilon": 1e-6}.items():
        writer.add(key, F32, value)
    writer.add_array("gemma4.feed_forward_length", I32, [size["ffn"] * (2 if is_wide else 1) for is_wide in wide])
    writer.add_array("gemma4.attention.head_count_kv", I32, [size["kv_heads"]] * layers)
    writer.add_array("gemma4.attention.sliding_window_pattern", BOOL, [not full for full in is_full])
    tokens, types, merges = vocabulary(vocab_count)
    writer.add("tokenizer.ggml.model", STRING, "gemma4")
    writer.add_array("tokenizer.ggml.tokens", STRING, tokens)
    writer.add_array("tokenizer.ggml.scores", F32, [-1000.0] * vocab_count)
    writer.add_array("tokenizer.ggml.token_type", I32, types)
    writer.add_array("tokenizer.ggml.merges", STRING, merges)
    for key, token in {"bos": "<bos>", "eos": "<eos>", "unknown": "<unk>", "padding": "<pad>", "mask": "<mask>"}.items():
        writer.add(f"tokenizer.ggml.{key}_token_id", U32, tokens.index(token))
    writer.add("tokenizer.ggml.add_bos_token", BOOL, True)
    writer.add("tokenizer.ggml.add_space_prefix", BOOL, False)


def add_tensors(writer, size, is_full, vocab_count):
    weights, hidden, layers = Weights(), size["hidden"], size["layers"]
    first_shared, half = layers - size["shared"], FULL_HEAD_SIZE // 2

    def matrix(name, rows, columns, kind="Q4_0"):
        writer.add_tensor(name, kind, [rows, columns], weights.quantised(kind, columns ** -0.5))

    def norm(name, count, center=1.0):
        writer.add_tensor(name, "F32", [count], weights.norm(count, center))

    def floats(name, values):
        data = struct.pack(f"<{len(values)}f", *values)
        writer.add_tensor(name, "F32", [len(values)], lambda _: [data])

    matrix("token_embd.weight", vocab_count, hidden, "Q6_K")
    matrix("per_layer_token_embd.weight", vocab_count, layers * PLE_SIZE, "Q6_K")
    writer.add_tensor("per_layer_model_proj.weight", "F16", [layers * PLE_SIZE, hidden], weights.floats("e", hidden ** -0.5))
    norm("per_layer_proj_norm.weight", PLE_SIZE)
    norm("output_norm.weight", hidden)
    floats("rope_freqs.weight", [1.0] * (half // 4) + [1e30] * (half - half // 4))
    for layer in range(layers):
        prefix, head_size = f"blk.{layer}.", FULL_HEAD_SIZE if is_full[layer] else HEAD_SIZE
        ffn = size["ffn"] * (2 if size["double_wide"] and layer >= first_shared else 1)
        for name in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "post_norm"):
            norm(f"{prefix}{name}.weight", hidden)
        norm(prefix + "attn_q_norm.weight", head_size)
        matrix(prefix + "attn_q.weight", HEADS * head_size, hidden)
        matrix(prefix + "attn_output.weight", hidden, HEADS * head_size)
        if layer < first_shared:
            norm(prefix + "attn_k_norm.weight", head_size, 0.1)
            matrix(prefix + "attn_k.weight", size["kv_heads"] * head_size, hidden)
            matrix(prefix + "attn_v.weight", size["kv_heads"] * head_size, hidden)
        matrix(prefix + "ffn_gate.weight", ffn, hidden)
        matrix(prefix + "ffn_up.weight", ffn, hidden)
        matrix(prefix + "ffn_down.weight", hidden, ffn)
        matrix(prefix + "inp_gate.weight", PLE_SIZE, hidden)
        matrix(prefix + "proj.weight", hidden, PLE_SIZE)
        floats(prefix + "layer_output_scale.weight", [0.9])


def write_model(path, size_name, layer_count=None, vocab_count=VOCABULARY, on_progress=lambda done, total: None):
    """Writes the model; fewer layers keep the share of those that have no K and V of their own. The file is there whole or not at all."""
    size = dict(SIZES[size_name], name=f"synthetic {size_name}")
    if layer_count:
        # At least one full layer has K and V of its own.
        shared = min(size["shared"] * layer_count // size["layers"], layer_count - size["period"])
        size.update(shared=max(shared, 0), layers=layer_count)
    is_full = [(layer + 1) % size["period"] == 0 for layer in range(size["layers"])]
    writer = gguf_file.Writer()
    add_metadata(writer, size, is_full, vocab_count)
    add_tensors(writer, size, is_full, vocab_count)
    writer.write(path, on_progress)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("path", metavar="FILE")
    parser.add_argument("--layers", type=int, metavar="N", help="fewer layers")
    parser.add_argument("--vocab", type=int, metavar="N", default=VOCABULARY, help="fewer tokens")
    options = parser.parse_args()
    write_model(options.path, options.size, options.layers, options.vocab)


if __name__ == "__main__":
    main()
