"""What ggml's C makes of numbers: blocks of every type, without and with importance.

Usage: python ggml_encoded.py LIBGGML_BASE [OUTPUT_DIR]    (default: ../tests/files/encoded)

`inputs.safetensors` has rows of f32 of every kind, as KIND.COLUMNS, and the importance of columns, as
`importance.COLUMNS`. `TYPE.safetensors` has ggml's blocks of each, a row of bytes a row: KIND.COLUMNS, and
KIND.COLUMNS.importance where importance changes a byte. Where ggml insists on importance, there are only those.

`made.json` has SHA-256 of the blocks of rows that are made and not stored (`made.py`: BF16 weights named
`encoded.COLUMNS`, importance named `importance.COLUMNS`): by type, `COLUMNS` and `COLUMNS.importance`.

Every byte comes from `ggml_quantize_chunk`, of a library built without fused multiply-add (`ggml_build.sh`).
"""

import hashlib
import json
import os
import sys

import made
import numpy as np
from safetensors.numpy import save_file

from ggml import Ggml

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = {256: 2, 512: 1}
MADE = {256: 40, 1280: 10}
# ggml calculates with these and stores no weights in them.
INNER = ["Q8_1", "Q8_K"]


def zeros(values, random):
    """Blocks, halves and single numbers that are zero."""
    flat = values.reshape(-1)
    flat[:64] = 0
    flat[80:96] = 0
    flat[128:192] = np.where(random.random(64) < 0.9, 0, flat[128:192])
    flat[200] = -0.0
    flat[256:] = 0
    return values


def constants(values, random):
    """The same number over and over, in either sign; and a single other one."""
    flat = values.reshape(-1)
    for start, number in zip(range(0, flat.size, 32), 8 * [0.5, -0.5, 1.0, -1e-3, 0.0]):
        flat[start : start + 32] = number
    flat[40], flat[300], flat[333] = 2.0, -0.25, -3.0
    return values


KINDS = {
    "normal": lambda values, random: values * 0.02,
    "heavy": lambda values, random: random.standard_t(2, values.shape).astype(np.float32) * 0.01,
    "bf16": lambda values, random: made.widened(made.weights("encoded.bf16", values.shape)),
    "tiny": lambda values, random: values * np.float32(10.0) ** random.integers(-30, -3, (values.shape[0], values.shape[1] // 32)).repeat(32, 1).astype(np.float32),
    "large": lambda values, random: values * 3000,
    "zeros": zeros,
    "constants": constants,
    "ties": lambda values, random: random.integers(-9, 10, values.shape).astype(np.float32) / 8,
    "positive": lambda values, random: np.abs(values) + 1,
}  # fmt: skip


def inputs():
    random = np.random.default_rng(20)
    found = {}
    for kind, make in KINDS.items():
        for columns, rows in COLUMNS.items():
            values = random.standard_normal((rows, columns)).astype(np.float32)
            found[f"{kind}.{columns}"] = np.ascontiguousarray(make(values, random), np.float32)
    for columns in COLUMNS:
        matter = random.chisquare(1, columns).astype(np.float32)
        matter[random.integers(columns, size=8)] = 0
        found[f"importance.{columns}"] = matter
    return found


def encode(ggml, kind, rows, importance):
    """Blocks without and with importance."""
    insists = ggml.lib.ggml_quantize_requires_imatrix(kind.number)
    without = None if insists else ggml.quantize(kind, rows, importance)
    return without, ggml.quantize(kind, rows, importance, always=True)


def main():
    ggml = Ggml(sys.argv[1])
    out = sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, "../tests/files/encoded")
    os.makedirs(out, exist_ok=True)
    given = inputs()
    save_file(given, os.path.join(out, "inputs.safetensors"))
    hashes = {}
    for kind in (kind for kind in ggml.types if kind.is_block and kind.name not in INNER):
        blocks = {}
        for name in [name for name in given if not name.startswith("importance")]:
            without, by = encode(ggml, kind, given[name], given["importance." + name.split(".")[1]])
            if without is not None:
                blocks[name] = without
            if without is None or (without != by).any():
                blocks[name + ".importance"] = by
        save_file(blocks, os.path.join(out, f"{kind.name}.safetensors"))
        hashes[kind.name] = found = {}
        for columns, rows in MADE.items():
            values = made.widened(made.weights(f"encoded.{columns}", (rows, columns)))
            without, by = encode(ggml, kind, values, made.importance(f"importance.{columns}", columns))
            if without is not None:
                found[f"{columns}"] = hashlib.sha256(without.tobytes()).hexdigest()
            found[f"{columns}.importance"] = hashlib.sha256(by.tobytes()).hexdigest()
        print(kind.name, len(blocks), flush=True)
    with open(os.path.join(out, "made.json"), "w") as file:
        json.dump({"rows": MADE, "types": hashes}, file, indent=1)
        file.write("\n")


main()
