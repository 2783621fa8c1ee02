"""Every type of ggml as a GGUF, and what ggml's C makes of it.

Usage: python ggml_blocks.py LIBGGML_BASE [OUTPUT_DIR]    (default: ../tests/files/ggml)

`blocks.gguf`, written by ggml, has two tensors of every type:

* `TYPE.real`: weights quantized by ggml (gaussian, outliers, a zero stretch, tiny values);
* `TYPE.raw`: random bytes, with every special number in every scale field in turn.

`blocks.expected.safetensors` has the same names and shapes as f32, decoded by ggml's `to_float`
(Q8_K: `dequantize_row_q8_K`). ggml decodes Q8_1 nowhere; its block definition says that d is the
scale and q the numbers, so a value is d * q. Plain integers and F64 are widened by numpy.

`blocks-big-endian.gguf` has the same tensors in the other byte order; see `WORDS`.
`nvfp4-scale.gguf` has NVFP4 weights beside their scale tensors; see `nvfp4_scale`.

gguf-py decodes everything it knows as a second opinion; where it differs from ggml's C, the
difference is printed and ggml's C stands.
"""

import os
import struct
import sys

import gguf
import numpy as np
from safetensors.numpy import save_file

from expect import Expect
from ggml import VERSION, Ggml

HERE = os.path.dirname(os.path.abspath(__file__))
PLAIN = {
    "F32": "f4", "F64": "f8", "F16": "u2", "BF16": "u2",
    "I8": "i1", "I16": "i2", "I32": "i4", "I64": "i8",
}  # fmt: skip

# Where each block keeps its scales: (offset, width).
SCALES = {
    "Q4_0": [(0, 2)], "Q4_1": [(0, 2), (2, 2)], "Q5_0": [(0, 2)], "Q5_1": [(0, 2), (2, 2)],
    "Q8_0": [(0, 2)], "Q8_1": [(0, 2), (2, 2)], "Q2_K": [(80, 2), (82, 2)], "Q3_K": [(108, 2)],
    "Q4_K": [(0, 2), (2, 2)], "Q5_K": [(0, 2), (2, 2)], "Q6_K": [(208, 2)], "Q8_K": [(0, 4)],
    "IQ2_XXS": [(0, 2)], "IQ2_XS": [(0, 2)], "IQ2_S": [(0, 2)], "IQ3_XXS": [(0, 2)],
    "IQ3_S": [(0, 2)], "IQ1_S": [(0, 2)], "IQ1_M": [(48, "nibbles")], "IQ4_NL": [(0, 2)],
    "IQ4_XS": [(0, 2)], "TQ1_0": [(52, 2)], "TQ2_0": [(64, 2)], "MXFP4": [(0, 1)],
    "NVFP4": [(0, 1), (1, 1), (2, 1), (3, 1)], "Q1_0": [(0, 2)], "Q2_0": [(0, 2)],
}  # fmt: skip

# The numbers of more than one byte in each block: (offset, width, count). This is how ggml's C
# stores through its pointers and memcpy, which is not always what the struct declares: Q5's `qh`
# is declared as bytes and stored as one u32, IQ1_M's `scales` likewise as u16, the last third of
# IQ3_XXS as u32, and IQ2_XXS's u16 array as u32. Q3_K's scales are handled as u32 too, but each
# step keeps inside its byte. `ggml_big_endian.py` checks it on an emulated big-endian machine.
WORDS = {
    "Q4_0": [(0, 2, 1)], "Q4_1": [(0, 2, 2)], "Q5_0": [(0, 2, 1), (2, 4, 1)],
    "Q5_1": [(0, 2, 2), (4, 4, 1)], "Q8_0": [(0, 2, 1)], "Q8_1": [(0, 2, 2)], "Q2_K": [(80, 2, 2)],
    "Q3_K": [(108, 2, 1)], "Q4_K": [(0, 2, 2)], "Q5_K": [(0, 2, 2)], "Q6_K": [(208, 2, 1)],
    "Q8_K": [(0, 4, 1), (260, 2, 16)], "IQ2_XXS": [(0, 2, 1), (2, 4, 16)], "IQ2_XS": [(0, 2, 33)],
    "IQ2_S": [(0, 2, 1)], "IQ3_XXS": [(0, 2, 1), (66, 4, 8)], "IQ3_S": [(0, 2, 1)],
    "IQ1_S": [(0, 2, 1), (34, 2, 8)], "IQ1_M": [(48, 2, 4)], "IQ4_NL": [(0, 2, 1)],
    "IQ4_XS": [(0, 2, 2)], "TQ1_0": [(52, 2, 1)], "TQ2_0": [(64, 2, 1)], "MXFP4": [], "NVFP4": [],
    "Q1_0": [(0, 2, 1)], "Q2_0": [(0, 2, 1)], "F32": [(0, 4, 1)], "F64": [(0, 8, 1)],
    "F16": [(0, 2, 1)], "BF16": [(0, 2, 1)], "I8": [], "I16": [(0, 2, 1)], "I32": [(0, 4, 1)],
    "I64": [(0, 8, 1)],
}  # fmt: skip

# NaN, both infinities, least subnormal, largest negative subnormal, a negative number, both zeros,
# the largest number, a signalling NaN.
SPECIALS = {
    2: [0x7E00, 0x7C00, 0xFC00, 0x0001, 0x83FF, 0xA9C3, 0x0000, 0x8000, 0x7BFF, 0xFD55],
    4: [0x7FC00000, 0x7F800000, 0xFF800000, 1, 0x807FFFFF, 0xBC1F3A77, 0, 0x80000000, 0x7F7FFFFF, 0xFFA00001],
}  # fmt: skip
SPECIALS["nibbles"] = SPECIALS[2]
# Both fields of a pair at once: infinities that cancel, numbers that overflow.
PAIRS = [(0x7C00, 0x7C00), (0x7C00, 0xFC00), (0x7BFF, 0xFBFF), (0x7BFF, 0x7BFF)]


def weights(random, rows, columns):
    """Weights as models have them, the corners of a quantizer included."""
    values = random.standard_normal((rows, columns)).astype(np.float32) * np.float32(0.02)
    for row in range(rows):
        values[row, random.integers(columns, size=2)] *= 30
    flat = values.reshape(-1)
    stretch = flat.size // 4
    flat[stretch : stretch + stretch * 3 // 4] = 0
    flat[-stretch:] *= np.float32(1e-6)
    flat[2 * stretch : 2 * stretch + stretch // 2] += np.float32(0.1)
    return values


def put(block, field, number):
    offset, width = field
    if width == "nibbles":
        # The top nibble of each of four u16, least first.
        for i in range(4):
            high = offset + 2 * i + 1
            block[high] = block[high] & 0x0F | (number >> 4 * i & 0xF) << 4
    else:
        block[offset : offset + width] = list(number.to_bytes(width, "little"))


def raw_blocks(random, kind):
    """Random blocks. Where two scales stand side by side, the one that is not special is ordinary."""
    fields = SCALES[kind.name]
    one_byte = fields[0][1] == 1
    if one_byte:
        numbers = range(256) if len(fields) > 1 else [*range(8), *range(8, 248, 5), *range(248, 256)]
        count = len(numbers) // len(fields)
    else:
        specials = SPECIALS[fields[0][1]]
        count = 10 * len(fields) + (len(PAIRS) if len(fields) == 2 else 2)
    blocks = random.integers(256, size=(count, kind.bytes), dtype=np.uint8)
    if one_byte:
        for i, number in enumerate(numbers):
            put(blocks[i // len(fields)], fields[i % len(fields)], number)
        return blocks
    for i, block in enumerate(blocks[: 10 * len(fields)]):
        for field in fields:
            put(block, field, int(random.integers(0x2000, 0x3C00)) << (16 if field[1] == 4 else 0))
        put(block, fields[i // 10], specials[i % 10])
    for block, pair in zip(blocks[20:], PAIRS) if len(fields) == 2 else ():
        put(block, fields[0], pair[0])
        put(block, fields[1], pair[1])
    return blocks


def swapped(kind, data):
    """The same blocks as a big-endian machine stores them."""
    blocks = np.frombuffer(data, np.uint8).reshape(-1, kind.bytes).copy()
    for offset, width, count in WORDS[kind.name]:
        for start in range(offset, offset + width * count, width):
            blocks[:, start : start + width] = blocks[:, start : start + width][:, ::-1]
    return blocks.tobytes()


def write_big_endian(path, metadata, tensors):
    """gguf-py swaps whole elements and knows nothing of fields inside blocks, so by hand."""

    def text(value):
        return struct.pack(">Q", len(value)) + value.encode()

    header = b"GGUF" + struct.pack(">IQQ", 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        header += text(key) + struct.pack(">I", 8) + text(value)
    body = b""
    for name, kind, shape, data in tensors:
        header += text(name) + struct.pack(">I", len(shape))
        header += b"".join(struct.pack(">Q", n) for n in reversed(shape))
        header += struct.pack(">IQ", kind.number, len(body))
        body += swapped(kind, data)
        body += bytes(-len(body) % 32)
    with open(path, "wb") as file:
        file.write(header + bytes(-len(header) % 32) + body)


def decode(ggml, kind, data):
    if kind.name == "Q8_1":
        blocks = np.frombuffer(data, np.uint8).reshape(-1, 36)
        scale = ggml.decode(next(t for t in ggml.types if t.name == "F16"), blocks[:, :2].tobytes())
        with np.errstate(all="ignore"):
            return (scale[:, None] * blocks[:, 4:].view(np.int8).astype(np.float32)).reshape(-1)
    if kind.to_float and kind.name in SCALES or kind.name in ("F16", "BF16", "Q8_K"):
        return ggml.decode(kind, data)
    with np.errstate(all="ignore"):
        return np.frombuffer(data, "<" + PLAIN[kind.name]).astype(np.float32)


def second_opinion(kind, data, values, name):
    """gguf-py's decoder beside ggml's; says where they differ."""
    try:
        qtype = gguf.GGMLQuantizationType[kind.name]
        with np.errstate(all="ignore"):
            row = np.frombuffer(data, np.uint8).reshape(1, -1)
            other = gguf.quants.dequantize(row, qtype).reshape(-1).astype(np.float32)
    except (KeyError, NotImplementedError):
        return "unknown"
    same = (values.view(np.uint32) == other.view(np.uint32)) | (np.isnan(values) & np.isnan(other))
    if not same.all():
        at = int(np.argmin(same))
        print(
            f"{name}: gguf-py differs in {np.count_nonzero(~same)} of {same.size},"
            f" first at {at}: {other[at]!r}, ggml {values[at]!r}"
        )
        return "differs"
    return "agrees"


def tensors_of(ggml):
    random = np.random.default_rng(20240817)
    tensors = []
    for index, kind in enumerate(ggml.types):
        columns = kind.elements * (2 if kind.elements > 1 else 24)
        rows = 2 if kind.elements == 256 else 4
        values = weights(random, rows, columns)
        if kind.is_block:
            real = ggml.quantize(kind, values, 0.5 + random.random(columns))
            raw = raw_blocks(random, kind)
        elif kind.name in ("F16", "BF16"):
            real = ggml.quantize(kind, values, None)
            raw = random.integers(256, size=(96, 2), dtype=np.uint8)
            raw[:10] = np.array(SPECIALS[2], "<u2").view(np.uint8).reshape(10, 2)
        else:
            scale = 1 if kind.name.startswith("F") else 1000
            real = (values * scale).astype("<" + PLAIN[kind.name])
            raw = random.integers(256, size=(96, kind.bytes), dtype=np.uint8)
            if kind.name == "F32":
                raw[:10] = np.array(SPECIALS[4], "<u4").view(np.uint8).reshape(10, 4)
            if kind.name == "F64":
                corners = [np.nan, np.inf, -np.inf, 5e-324, -1e-310, -1.5, 0.0, -0.0, 1.8e308, 3.4028235677973366e38]
                raw[:10] = np.array(corners, "<f8").view(np.uint8).reshape(10, 8)
        tensors.append((kind.name + ".real", kind, [rows, columns], real.tobytes()))
        blocks = raw.shape[0]
        # Rows of one block and of several, matrices and three dimensions, in turn.
        if kind.elements == 1:
            shape = [2, 3, blocks // 6] if index % 2 else [blocks // 8, 8]
        elif index % 2:
            shape = [2, blocks // 4, 2 * kind.elements]
        else:
            shape = [blocks, kind.elements]
        tensors.append((kind.name + ".raw", kind, shape, raw.tobytes()))
    return tensors


def save(ggml, folder, stem, metadata, tensors, expected):
    path = os.path.join(folder, stem + ".gguf")
    ggml.write(path, metadata, tensors)
    expect = Expect(VERSION, "gguf")
    expect.metadata.update(metadata)
    for name, kind, shape, data in ggml.read(path):
        expect.raw(name, shape, kind.name, data)
    expect.save(path)
    values = os.path.join(folder, stem + ".expected.safetensors")
    save_file(expected, values)
    os.chmod(values, 0o644)


def nvfp4_scale(ggml):
    """NVFP4 weights with their second scale, as the converter of llama.cpp writes it.

    Beside `NAME.weight` stands `NAME.scale`: F32, one number for a matrix, one per expert for three
    dimensions. It is left out where it would be 1. The graph multiplies the product of the weight
    with it, so a weight is its decoded value times its scale. `NAME.input_scale` is for
    activations, so it is no weight at all. Beside other types a `.scale` belongs to the
    architecture (per-expert factors of a router), so it is a weight of its own there.
    """
    random = np.random.default_rng(20250301)
    kinds = {kind.name: kind for kind in ggml.types}
    nvfp4, f32 = kinds["NVFP4"], kinds["F32"]
    tensors, expected = [], {}

    def scale(name, numbers):
        numbers = np.array(numbers, "<f4")
        tensors.append((name, f32, list(numbers.shape), numbers.tobytes()))
        return numbers

    def weight(name, kind, shape, numbers=None):
        values = weights(random, int(np.prod(shape[:-1])), shape[-1]) * np.float32(50)
        data = ggml.quantize(kind, values, np.ones(shape[-1])).tobytes()
        tensors.append((name + ".weight", kind, shape, data))
        decoded = ggml.decode(kind, data).reshape(shape)
        if numbers is not None:
            factors = scale(name + ".scale", numbers)
            with np.errstate(all="ignore"):
                decoded = decoded * factors.reshape([-1] + [1] * (len(shape) - 1))
        expected[name + ".weight"] = decoded

    weight("blk.0.attn_q", nvfp4, [4, 128], [0.0031])
    weight("blk.0.ffn_up_exps", nvfp4, [3, 4, 128], [0.0017, -0.25, 3.1e-5])
    weight("blk.0.ffn_gate_exps", nvfp4, [3, 2, 64], [1.0, np.inf, 1e-39])
    weight("blk.0.attn_k", nvfp4, [4, 64])
    weight("blk.0.attn_v", nvfp4, [4, 64], [0.77])
    scale("blk.0.attn_v.input_scale", [0.0123])
    weight("blk.0.attn_output", nvfp4, [2, 64])
    scale("blk.0.attn_output.input_scale", [1.5])
    weight("output", nvfp4, [5, 64], [0.01])
    weight("blk.0.ffn_down_exps", kinds["Q8_0"], [2, 4, 64])
    expected["blk.0.ffn_down_exps.scale"] = scale("blk.0.ffn_down_exps.scale", [0.5, 2.0])
    return tensors, expected


def main():
    ggml = Ggml(sys.argv[1])
    folder = sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, "..", "tests", "files", "ggml")
    os.makedirs(folder, exist_ok=True)
    tensors = tensors_of(ggml)
    expected, opinions = {}, {}
    for name, kind, shape, data in tensors:
        values = decode(ggml, kind, data)
        expected[name] = values.reshape(shape)
        opinions.setdefault(second_opinion(kind, data, values, name), []).append(name)
    metadata = {"general.architecture": "blocks", "general.name": "every type of ggml"}
    save(ggml, folder, "blocks", metadata, tensors, expected)
    other = os.path.join(folder, "blocks-big-endian.gguf")
    write_big_endian(other, metadata, tensors)
    expect = Expect("hand-written from the GGUF specification and ggml's C structs", "gguf")
    expect.metadata.update(metadata)
    for name, kind, shape, data in tensors:
        expect.raw(name, shape, kind.name, data)
    expect.save(other)
    metadata = {"general.architecture": "blocks", "general.name": "NVFP4 with a second scale"}
    tensors, expected = nvfp4_scale(ggml)
    save(ggml, folder, "nvfp4-scale", metadata, tensors, expected)
    for opinion, names in opinions.items():
        print(f"gguf-py {opinion}: {len(names)}" + (f" {names}" if opinion != "agrees" else ""))


if __name__ == "__main__":
    main()
