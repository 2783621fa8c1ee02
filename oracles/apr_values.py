"""What the blocks in tests/files/apr/blocks.apr are as f32.

    (cd apr_values && cargo run -- ../../tests/files/apr/blocks.apr READ.safetensors)
    python3 apr_values.py READ.safetensors     writes tests/files/apr/blocks.expected.safetensors
    python3 apr_samples.py

The values are those the APR project's crates read, and gguf's must be the same to the bit: Q4_K and
Q6_K row by row, APR_Q4 as Q4_0 once its nibbles are in Q4_0's order. The tensors `raw.*` hold scales
that are infinite, not a number or tiny, which those crates clear; their values are gguf's alone.
"""

import os
import struct
import sys

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf.quants import dequantize
from safetensors.numpy import load_file, save_file

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "files", "apr")
K = {12: (Type.Q4_K, 144), 14: (Type.Q6_K, 210)}


def tensors(data):
    count, index, start = struct.unpack_from("<I", data, 8)[0], *struct.unpack_from("<QQ", data, 24)
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, index)
        name = data[index + 2 : index + 2 + length].decode()
        index += 2 + length
        number, dimensions = data[index], data[index + 1]
        shape = struct.unpack_from(f"<{dimensions}Q", data, index + 2)
        index += 2 + 8 * dimensions
        offset, size = struct.unpack_from("<QQ", data, index)
        index += 16
        yield name, number, shape, np.frombuffer(data, np.uint8, size, start + offset)


def by_gguf(number, shape, raw):
    count = int(np.prod(shape))
    if number == 128:
        blocks = raw.reshape(-1, 18)
        nibbles = np.stack([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=2).reshape(-1, 32)
        ordered = np.concatenate([blocks[:, :2], nibbles[:, :16] | nibbles[:, 16:] << 4], axis=1)
        return dequantize(ordered, Type.Q4_0).ravel()[:count].reshape(shape)
    if number not in K:
        return None
    kind, size = K[number]
    rows = shape[0] if len(shape) == 2 else 1
    assert raw.size == rows * -(-count // rows // 256) * size
    return dequantize(raw.reshape(rows, -1), kind)[:, : count // rows].reshape(shape)


def main():
    read = load_file(sys.argv[1])
    with open(os.path.join(FOLDER, "blocks.apr"), "rb") as file:
        data = file.read()
    values = {}
    for name, number, shape, raw in tensors(data):
        with np.errstate(over="ignore", invalid="ignore"):
            second = by_gguf(number, shape, raw)
        first = read[name] if not name.startswith("raw.") else second
        assert second is None or np.array_equal(first.view(np.uint32), second.view(np.uint32)), name
        values[name] = np.ascontiguousarray(first)
    save_file(values, os.path.join(FOLDER, "blocks.expected.safetensors"))
    print(len(values), "tensors")


main()
