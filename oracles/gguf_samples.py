"""Samples of the GGUF container, written by gguf-py wherever it can write them.

Usage: python gguf_samples.py [OUTPUT_DIR]    (default: ../tests/files/gguf)

Expectations beyond the common rules:

* `metadata` holds every key-value pair in file order. A string that is not UTF-8 appears as
  {"bytes": "hex"}.
* `metadata_types` names each value's type: u8 i8 u16 i16 u32 i32 f32 bool string u64 i64 f64,
  array[...]. An array of arrays takes the inner type from its first inner array.
* `decoded_f32`, where present, is the SHA-256 of the tensor's values as little-endian float32,
  as gguf.quants.dequantize gives them.
* For a split set, tensors run part by part and metadata is that of the first part.
"""

import builtins
import logging
import os
import shutil
import struct
import sys
import tempfile
from argparse import Namespace
from importlib.metadata import version

import numpy as np
import gguf
from gguf import GGMLQuantizationType as T
from gguf import GGUFEndian, GGUFReader, GGUFValueType as V, GGUFWriter
from gguf.constants import GGML_QUANT_SIZES
from gguf.scripts import gguf_convert_endian

from safetensors.numpy import save_file

from expect import Expect, little_endian_bytes, sha256
from values import generator, noise, values

LIBRARY = "gguf " + version("gguf")
BY_HAND = "hand-written from the GGUF specification"

VALUE_NAMES = {
    V.UINT8: "u8", V.INT8: "i8", V.UINT16: "u16", V.INT16: "i16", V.UINT32: "u32", V.INT32: "i32",
    V.FLOAT32: "f32", V.BOOL: "bool", V.STRING: "string", V.ARRAY: "array", V.UINT64: "u64",
    V.INT64: "i64", V.FLOAT64: "f64",
}  # fmt: skip


# ---- reading back ------------------------------------------------------------------------------


def text(raw):
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return {"bytes": raw.hex()}


def take(parts, kind):
    """Rebuilds one value and its type name from the flat parts gguf-py keeps for a field."""
    if kind == V.STRING:
        next(parts)
        return text(next(parts).tobytes()), "string"
    if kind == V.ARRAY:
        inner, length = V(next(parts)[0]), int(next(parts)[0])
        items = [take(parts, inner) for _ in range(length)]
        name = items[0][1] if items else VALUE_NAMES[inner]
        return [item for item, _ in items], f"array[{name}]"
    return next(parts)[0].item(), VALUE_NAMES[kind]


def metadata_of(reader):
    found, types = {}, {}
    for name, field in reader.fields.items():
        if name.startswith("GGUF."):
            continue
        parts = iter(field.parts[2:])
        kind = V(next(parts)[0])
        found[name], types[name] = take(parts, kind)
        assert next(parts, None) is None
    return found, types


PLAIN = {T.F32: "F32", T.F16: "F16", T.F64: "F64", T.I8: "I8", T.I16: "I16", T.I32: "I32", T.I64: "I64"}


def tensor_bytes(reader, tensor):
    if tensor.tensor_type in PLAIN:
        return little_endian_bytes(tensor.data)
    raw = tensor.data.tobytes()
    if reader.byte_order == "S":
        # The reader leaves every other type as raw bytes, BF16 among them.
        assert tensor.tensor_type == T.BF16
        raw = np.frombuffer(raw, ">u2").astype("<u2").tobytes()
    return raw


def describe(expect, path):
    reader = GGUFReader(path)
    for tensor in reader.tensors:
        shape = [int(n) for n in reversed(tensor.shape)]
        expect.raw(tensor.name, shape, tensor.tensor_type.name, tensor_bytes(reader, tensor))
    return metadata_of(reader)


def expect_from_reader(path, writer=LIBRARY):
    expect = Expect(writer, "gguf")
    expect.metadata, expect.extra["metadata_types"] = describe(expect, path)
    expect.save(path)
    return expect


# ---- writing with the library ------------------------------------------------------------------


def close(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_every_value_type(writer):
    add = writer.add_key_value
    scalars = [
        ("u8", V.UINT8, 255), ("i8", V.INT8, -128), ("u16", V.UINT16, 65535),
        ("i16", V.INT16, -32768), ("u32", V.UINT32, 4294967295), ("i32", V.INT32, -2147483648),
        ("f32", V.FLOAT32, 0.1), ("bool.true", V.BOOL, True), ("bool.false", V.BOOL, False),
        ("string", V.STRING, "Wägebrücke 秤\n\x1b[31m\x00\"end\""), ("string.empty", V.STRING, ""),
        ("u64", V.UINT64, 18446744073709551615), ("i64", V.INT64, -9223372036854775808),
        ("f64", V.FLOAT64, 0.1), ("f32.nan", V.FLOAT32, float("nan")),
        ("f32.inf", V.FLOAT32, float("inf")), ("f64.negative.inf", V.FLOAT64, float("-inf")),
        ("f64.negative.zero", V.FLOAT64, -0.0), ("f32.tiny", V.FLOAT32, 1e-45),
        ("f64.huge", V.FLOAT64, 1.7976931348623157e308),
    ]  # fmt: skip
    for name, kind, value in scalars:
        add("value." + name, value, kind)
    arrays = [
        ("u8", V.UINT8, [0, 1, 255]), ("i8", V.INT8, [-128, 0, 127]),
        ("u16", V.UINT16, [0, 65535]), ("i16", V.INT16, [-32768, 32767]),
        ("u32", V.UINT32, [0, 4294967295]), ("i32", V.INT32, [-2147483648, 2147483647]),
        ("f32", V.FLOAT32, [0.1, -0.0, float("inf"), float("nan"), 1e-45, 3.4028234663852886e38]),
        ("bool", V.BOOL, [True, False, True]), ("string", V.STRING, ["", "one", "zwei ∑", "a\nb"]),
        ("u64", V.UINT64, [0, 18446744073709551615]),
        ("i64", V.INT64, [-9223372036854775808, 9223372036854775807]),
        ("f64", V.FLOAT64, [0.1, -0.0, float("-inf"), 5e-324]),
    ]  # fmt: skip
    for name, kind, value in arrays:
        add("array." + name, value, V.ARRAY, kind)


def key_values(out):
    path = os.path.join(out, "key-values.gguf")
    writer = GGUFWriter(path, "sample")
    add_every_value_type(writer)
    writer.add_key_value("general.name", "every value type", V.STRING)
    writer.add_tensor("w", values(generator(201), np.float32, (3, 4)))
    close(writer)
    expect_from_reader(path)

    # The writer accepts lists of lists although its reader flattens them again.
    path = os.path.join(out, "nested-arrays.gguf")
    writer = GGUFWriter(path, "sample")
    writer.add_array("nested.i32", [[1, 2, 3], [-4], [5, 6]])
    writer.add_array("nested.string", [["a", "b"], ["", "c"]])
    writer.add_array("nested.three", [[[1.5, 2.5]], [[-3.5], [4.0]]])
    writer.add_array("nested.bool", [[True], [False, True]])
    writer.add_tensor("w", values(generator(202), np.float32, (2,)))
    close(writer)
    expect_from_reader(path)

    # Strings given as bytes are written without a check.
    path = os.path.join(out, "not-utf8.gguf")
    writer = GGUFWriter(path, "sample")
    writer.add_key_value("general.name", b"latin \xe4 name", V.STRING)
    writer.add_array("tokenizer.ggml.tokens", [b"<s>", b"\xff", b"\xc3", b"\xe2\x96", b"ok"])
    close(writer)
    expect_from_reader(path)


def no_tensors(out):
    path = os.path.join(out, "no-tensors.gguf")
    writer = GGUFWriter(path, "llama")
    writer.add_name("metadata only")
    writer.add_context_length(4096)
    close(writer)
    expect_from_reader(path)


# Offsets of the float16 scales inside a block of random bytes, so that decoded values stay finite.
HALF_SCALES = {
    T.Q2_K: [80, 82], T.Q3_K: [108], T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208],
    T.IQ2_XXS: [0], T.IQ2_XS: [0], T.IQ3_XXS: [0], T.IQ1_S: [0], T.IQ4_NL: [0], T.IQ3_S: [0],
    T.IQ2_S: [0], T.IQ4_XS: [0], T.Q1_0: [0],
}  # fmt: skip


def raw_blocks(rng, kind, rows, row_elements):
    """Random blocks of `kind`, shaped (rows, bytes of a row)."""
    elements, size = GGML_QUANT_SIZES[kind]
    count = rows * row_elements // elements
    blocks = noise(rng, count * size).reshape(count, size)
    halves = lambda: (rng.uniform(0.001, 0.1, count) * rng.choice([-1, 1], count)).astype("<f2")
    for offset in HALF_SCALES.get(kind, []):
        blocks[:, offset : offset + 2] = halves().view(np.uint8).reshape(count, 2)
    if kind == T.IQ1_M:
        # The scale's four nibbles sit in the top nibbles of the four scale words.
        bits = halves().view("<u2")
        for word in range(4):
            high = 48 + 2 * word + 1
            blocks[:, high] = (blocks[:, high] & 0x0F) | (((bits >> (4 * word)) & 0xF) << 4)
    if kind == T.Q8_K:
        scales = rng.uniform(0.001, 0.1, count).astype("<f4")
        blocks[:, 0:4] = scales.view(np.uint8).reshape(count, 4)
        sums = blocks[:, 4:260].view(np.int8).reshape(count, 16, 16).sum(axis=2).astype("<i2")
        blocks[:, 260:292] = np.ascontiguousarray(sums).view(np.uint8).reshape(count, 32)
    if kind == T.NVFP4:
        blocks[:, 0:4] &= 0x7F
        blocks[:, 0:4] = np.where(blocks[:, 0:4] == 0x7F, 0x7E, blocks[:, 0:4])
    return blocks.reshape(rows, -1)


QUANTIZED = [T.BF16, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1, T.Q8_0, T.TQ1_0, T.TQ2_0, T.MXFP4]
RAW = [
    T.Q2_K, T.Q3_K, T.Q4_K, T.Q5_K, T.Q6_K, T.Q8_K, T.IQ2_XXS, T.IQ2_XS, T.IQ3_XXS, T.IQ1_S,
    T.IQ4_NL, T.IQ3_S, T.IQ2_S, T.IQ4_XS, T.IQ1_M, T.NVFP4, T.Q1_0,
]  # fmt: skip


def decoded(path):
    result = {}
    for tensor in GGUFReader(path).tensors:
        try:
            numbers = gguf.quants.dequantize(np.array(tensor.data), tensor.tensor_type)
        except NotImplementedError:
            continue
        numbers = numbers.astype(np.float32)
        assert np.isfinite(numbers).all() or tensor.tensor_type in (T.F32, T.F16)
        result[tensor.name] = sha256(numbers.astype("<f4").tobytes())
    return result


def tensor_types(out):
    path = os.path.join(out, "tensor-types.gguf")
    rng = generator(203)
    writer = GGUFWriter(path, "sample")
    writer.add_quantization_version(2)
    writer.add_file_type(1)
    for dtype in [np.float32, np.float16, np.float64, np.int8, np.int16, np.int32, np.int64]:
        writer.add_tensor("plain." + np.dtype(dtype).name, values(rng, dtype, (3, 12)))
    # Two rows of two 256-element groups: several blocks a row for every type.
    for kind in QUANTIZED:
        weights = rng.standard_normal((2, 512)).astype(np.float32)
        weights[0, :32] = 0.0
        weights[1, 7] = -0.0
        packed = gguf.quants.quantize(weights, kind)
        writer.add_tensor("quantized." + kind.name.lower(), packed, raw_dtype=kind)
    for kind in RAW:
        writer.add_tensor("raw." + kind.name.lower(), raw_blocks(rng, kind, 2, 512), raw_dtype=kind)
    close(writer)
    expect = Expect(LIBRARY, "gguf")
    expect.metadata, expect.extra["metadata_types"] = describe(expect, path)
    expect.extra["decoded_f32"] = decoded(path)
    expect.save(path)

    # BF16 with the numbers quantize() was not given above: NaN, infinities, negative zero.
    path = os.path.join(out, "bf16.gguf")
    writer = GGUFWriter(path, "sample")
    packed = gguf.quants.quantize(values(rng, np.float32, (4, 32)), T.BF16)
    writer.add_tensor("special", packed, raw_dtype=T.BF16)
    close(writer)
    expect_from_reader(path)


def shapes(out):
    path = os.path.join(out, "shapes.gguf")
    rng = generator(204)
    writer = GGUFWriter(path, "sample")
    writer.add_tensor("zero.dims", values(rng, np.float32, ()))
    writer.add_tensor("one.dim", values(rng, np.float32, (5,)))
    writer.add_tensor("three.dims", values(rng, np.float16, (2, 3, 4)))
    writer.add_tensor("four.dims", values(rng, np.int8, (2, 1, 3, 5)))
    writer.add_tensor("quantized.three.dims", gguf.quants.quantize(
        rng.standard_normal((2, 3, 64)).astype(np.float32), T.Q8_0), raw_dtype=T.Q8_0)  # fmt: skip
    writer.add_tensor("empty", np.zeros((0, 4), np.float32))
    writer.add_tensor("after.empty", values(rng, np.float32, (1,)))
    writer.add_tensor("name.longer.than.ggml.allows." + "x" * 80, values(rng, np.float32, (2,)))
    writer.add_tensor("größe\n\x1b[31m\"重み\"", values(rng, np.float32, (2,)))
    close(writer)
    expect_from_reader(path)


def alignments(out):
    for alignment in (8, 64, 256, 1024):
        path = os.path.join(out, f"alignment-{alignment}.gguf")
        rng = generator(205)
        writer = GGUFWriter(path, "sample")
        writer.add_custom_alignment(alignment)
        for index, size in enumerate([1, 5, 64]):
            writer.add_tensor(f"w{index}", values(rng, np.float32, (size,)))
        close(writer)
        expect_from_reader(path)

    # Some writers stop after the last tensor's bytes: the library's file with its padding cut off.
    path = os.path.join(out, "no-final-padding.gguf")
    writer = GGUFWriter(path, "sample")
    writer.add_tensor("w0", values(rng, np.float32, (3,)))
    writer.add_tensor("w1", values(rng, np.float16, (3,)))
    close(writer)
    last = GGUFReader(path).tensors[-1]
    os.truncate(path, last.data_offset + last.n_bytes)
    expect_from_reader(path)


def vocabulary(out):
    path = os.path.join(out, "vocabulary.gguf")
    rng = generator(206)
    letters = "etaoinshrdlucmfwypvbgk"
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(0, 256, 4)]
    kinds = [2, 3, 3] + [6] * 64
    tokens += ["▁", "▁the", "Ġof", "über", "秤", "🏋", "\n", '"', "\\", "\x1b", ""]
    kinds += [1] * 11
    words = [a + b for a in letters for b in letters]
    for index in range(200 - len(tokens)):
        tokens.append(words[index * 3])
        kinds.append(1 if index % 10 else 4)
    writer = GGUFWriter(path, "llama")
    writer.add_name("small vocabulary")
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores([float(x) for x in rng.standard_normal(200).astype(np.float32)])
    writer.add_token_types(kinds)
    writer.add_token_merges([f"{a} {b}" for a in letters[:5] for b in letters[:8]])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_chat_template("{% for m in messages %}{{ m['content'] }}\n{% endfor %}")
    writer.add_tensor("token_embd.weight", values(rng, np.float16, (200, 4)))
    close(writer)
    expect_from_reader(path)


def big_endian(out):
    path = os.path.join(out, "big-endian.gguf")
    rng = generator(207)
    writer = GGUFWriter(path, "sample", endianess=GGUFEndian.BIG)
    add_every_value_type(writer)
    for dtype in [np.float32, np.float16, np.float64, np.int8, np.int16, np.int32, np.int64]:
        writer.add_tensor("plain." + np.dtype(dtype).name, values(rng, dtype, (3, 12)))
    close(writer)
    expect_from_reader(path)

    # Block types: a little-endian file turned round by the library's own conversion script. The
    # writer alone would be wrong here, since it takes packed blocks for single bytes.
    path = os.path.join(out, "big-endian-blocks.gguf")
    writer = GGUFWriter(path, "sample")
    writer.add_quantization_version(2)
    writer.add_tensor("f32", values(rng, np.float32, (3, 4)))
    writer.add_tensor("f16", values(rng, np.float16, (3, 4)))
    for kind in [T.BF16, T.Q4_0, T.Q8_0, T.MXFP4]:
        packed = gguf.quants.quantize(rng.standard_normal((2, 64)).astype(np.float32), kind)
        writer.add_tensor(kind.name.lower(), packed, raw_dtype=kind)
    for kind in [T.Q4_K, T.Q6_K, T.NVFP4]:
        writer.add_tensor(kind.name.lower(), raw_blocks(rng, kind, 2, 512), raw_dtype=kind)
    close(writer)
    with open(path, "rb") as file:
        little = file.read()
    expect = Expect(LIBRARY + ", gguf_convert_endian", "gguf")
    expect.metadata, expect.extra["metadata_types"] = describe(expect, path)
    expect.extra["decoded_f32"] = decoded(path)
    convert(path, "big")
    with open(path, "rb") as file:
        assert file.read() != little
    assert metadata_of(GGUFReader(path)) == (expect.metadata, expect.extra["metadata_types"])
    # Turning it round again must give the little-endian file.
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copy(path, os.path.join(scratch, "copy.gguf"))
        convert(copy, "little")
        with open(copy, "rb") as file:
            assert file.read() == little
    expect.save(path)


def convert(path, order):
    reader = GGUFReader(path, "r+")
    ask, builtins.input = builtins.input, lambda prompt="": "YES"
    stderr, sys.stderr = sys.stderr, open(os.devnull, "w")
    try:
        gguf_convert_endian.convert_byteorder(reader, Namespace(order=order, dry_run=False))
    finally:
        sys.stderr.close()
        builtins.input, sys.stderr = ask, stderr
    reader.data.flush()


def split(out, folder, first_empty):
    directory = os.path.join(out, folder)
    os.makedirs(directory, exist_ok=True)
    rng = generator(208)
    writer = GGUFWriter(
        os.path.join(directory, "model.gguf"), "llama", split_max_tensors=3 if first_empty else 2,
        small_first_shard=first_empty,
    )  # fmt: skip
    writer.add_name("split sample")
    writer.add_block_count(1)
    writer.add_quantization_version(2)
    for name, shape in [
        ("token_embd.weight", (8, 32)), ("blk.0.attn_norm.weight", (32,)),
        ("blk.0.attn_q.weight", (32, 32)), ("blk.0.ffn_down.weight", (32, 64)),
        ("output_norm.weight", (32,)), ("output.weight", (8, 32)),
    ]:  # fmt: skip
        if len(shape) == 1:
            writer.add_tensor(name, values(rng, np.float32, shape))
        else:
            numbers = rng.standard_normal(shape).astype(np.float32)
            writer.add_tensor(name, gguf.quants.quantize(numbers, T.Q8_0), raw_dtype=T.Q8_0)
    close(writer)
    parts = sorted(os.listdir(directory))
    assert parts == [f"model-{n:05d}-of-00003.gguf" for n in (1, 2, 3)]
    expect = Expect(LIBRARY, "gguf")
    for part in parts:
        metadata, types = describe(expect, os.path.join(directory, part))
        if part == parts[0]:
            expect.metadata, expect.extra["metadata_types"] = metadata, types
    assert len(expect.tensors) == 6
    expect.save(directory)


# ---- writing by hand ---------------------------------------------------------------------------


class Hand:
    """A minimal GGUF writer for what the library cannot write: other versions, other types."""

    CODES = {V.UINT8: "B", V.INT8: "b", V.UINT16: "H", V.INT16: "h", V.UINT32: "I", V.INT32: "i",
             V.FLOAT32: "f", V.BOOL: "?", V.UINT64: "Q", V.INT64: "q", V.FLOAT64: "d"}  # fmt: skip

    def __init__(self, version=3, alignment=32):
        self.version = version
        self.alignment = alignment
        # Version 1 counts everything in 32 bits, later versions in 64.
        self.count = "<I" if version == 1 else "<Q"
        self.pairs = []
        self.tensors = []

    def length(self, n):
        return struct.pack(self.count, n)

    def string(self, value):
        raw = value.encode("utf-8")
        return self.length(len(raw)) + raw

    def value(self, kind, value):
        if kind == V.STRING:
            return self.string(value)
        if isinstance(kind, list):
            inner = kind[0]
            tag = V.ARRAY if isinstance(inner, list) else inner
            items = b"".join(self.value(inner, item) for item in value)
            return struct.pack("<I", tag) + self.length(len(value)) + items
        return struct.pack("<" + self.CODES[kind], value)

    def pair(self, key, kind, value):
        self.pairs.append((key, kind, value))

    def tensor(self, name, shape, kind, data, dtype):
        """`shape` is outermost first; `dtype` is the name to expect, or None if unknown."""
        self.tensors.append((name, list(shape), int(kind), bytes(data), dtype))

    def build(self):
        out = bytearray(b"GGUF" + struct.pack("<I", self.version))
        out += self.length(len(self.tensors)) + self.length(len(self.pairs))
        for key, kind, value in self.pairs:
            tag = V.ARRAY if isinstance(kind, list) else kind
            out += self.string(key) + struct.pack("<I", tag) + self.value(kind, value)
        offset = 0
        for name, shape, kind, data, _ in self.tensors:
            out += self.string(name) + struct.pack("<I", len(shape))
            for n in reversed(shape):
                out += self.length(n)
            out += struct.pack("<IQ", kind, offset)
            offset += len(data) + -len(data) % self.alignment
        out += bytes(-len(out) % self.alignment)
        for _, _, _, data, _ in self.tensors:
            out += data + bytes(-len(data) % self.alignment)
        return bytes(out)

    def type_name(self, kind):
        return f"array[{self.type_name(kind[0])}]" if isinstance(kind, list) else VALUE_NAMES[kind]

    def save(self, path, type_ids=False):
        with open(path, "wb") as file:
            file.write(self.build())
        expect = Expect(BY_HAND, "gguf")
        for name, shape, _, data, dtype in self.tensors:
            if dtype is None:
                expect.refuse(name, shape)
            else:
                expect.raw(name, shape, dtype, data)
        for key, kind, value in self.pairs:
            if kind == V.FLOAT32:
                value = float(np.float32(value))
            elif kind == [V.FLOAT32]:
                value = [float(np.float32(item)) for item in value]
            expect.metadata[key] = value
        expect.extra["metadata_types"] = {key: self.type_name(kind) for key, kind, _ in self.pairs}
        if type_ids:
            expect.extra["type_ids"] = {name: kind for name, _, kind, _, _ in self.tensors}
        expect.save(path)
        return expect


def old_versions(out):
    for number in (1, 2):
        rng = generator(209)
        hand = Hand(number)
        hand.pair("general.architecture", V.STRING, "llama")
        hand.pair("general.name", V.STRING, f"version {number} ✓")
        hand.pair("general.file_type", V.UINT32, 2)
        hand.pair("value.bool", V.BOOL, True)
        hand.pair("value.f32", V.FLOAT32, 0.1)
        hand.pair("value.i8", V.INT8, -5)
        hand.pair("value.u16", V.UINT16, 40000)
        hand.pair("tokenizer.ggml.tokens", [V.STRING], ["<unk>", "", "▁a"])
        hand.pair("tokenizer.ggml.scores", [V.FLOAT32], [0.0, -1.5, 0.3])
        hand.pair("tokenizer.ggml.token_type", [V.INT32], [2, 1, -1])
        if number == 2:
            # The 64-bit value types came with version 2.
            hand.pair("value.u64", V.UINT64, 2**64 - 1)
            hand.pair("value.i64", V.INT64, -(2**63))
            hand.pair("value.f64", V.FLOAT64, 0.1)
        for name, dtype, kind in [("a.weight", np.float32, T.F32), ("b.weight", np.float16, T.F16)]:
            array = values(rng, dtype, (3, 5))
            hand.tensor(name, array.shape, kind, array.tobytes(), kind.name)
        packed = gguf.quants.quantize(rng.standard_normal((2, 64)).astype(np.float32), T.Q4_0)
        hand.tensor("c.weight", (2, 64), T.Q4_0, packed.tobytes(), "Q4_0")
        path = os.path.join(out, f"version-{number}.gguf")
        expect = hand.save(path)
        if number == 2:
            by_reader = expect_from_reader(path, BY_HAND + ", read back by " + LIBRARY)
            assert by_reader.tensors == expect.tensors and by_reader.metadata == expect.metadata
            assert by_reader.extra == expect.extra


def by_hand(out):
    # Empty arrays, which the library's writer refuses and its reader accepts.
    hand = Hand()
    hand.pair("general.architecture", V.STRING, "sample")
    hand.pair("empty.string", [V.STRING], [])
    hand.pair("empty.f32", [V.FLOAT32], [])
    hand.pair("inner.empty", [[V.INT32]], [[1], [], [2, 3]])
    hand.pair("nested.u8", [[V.UINT8]], [[1, 2], [255]])
    hand.pair("last", V.UINT8, 9)
    numbers = values(generator(210), np.float32, (2,))
    hand.tensor("w", (2,), T.F32, numbers.tobytes(), "F32")
    path = os.path.join(out, "empty-arrays.gguf")
    expect = hand.save(path)
    by_reader = expect_from_reader(path, BY_HAND + ", read back by " + LIBRARY)
    assert by_reader.metadata == expect.metadata and by_reader.extra == expect.extra

    # A type id nobody has assigned, between two tensors that read as usual.
    rng = generator(211)
    hand = Hand()
    hand.pair("general.architecture", V.STRING, "sample")
    before, after = values(rng, np.float32, (4,)), values(rng, np.float16, (2, 3))
    hand.tensor("before", (4,), T.F32, before.tobytes(), "F32")
    hand.tensor("unknown", (2, 64), 9999, noise(rng, 100).tobytes(), None)
    hand.tensor("after", (2, 3), T.F16, after.tobytes(), "F16")
    hand.save(os.path.join(out, "unknown-type.gguf"), type_ids=True)

    # Types of the ik_llama.cpp fork. IQ4_KS and IQ2_KS start each row with header bytes: a float32
    # and a float16 scale. (2, 512) is two rows of two blocks.
    hand = Hand()
    hand.pair("general.architecture", V.STRING, "llama")
    hand.pair("general.quantization_version", V.UINT32, 2)
    fork = [
        ("IQ2_K", 137, 76, 0), ("IQ3_K", 138, 110, 0), ("IQ4_K", 139, 144, 0),
        ("IQ5_K", 140, 176, 0), ("IQ6_K", 141, 212, 0), ("IQ4_KS", 144, 136, 4),
        ("IQ2_KS", 145, 70, 2), ("IQ5_KS", 152, 168, 4),
    ]  # fmt: skip
    for name, kind, size, header in fork:
        rows = []
        for _ in range(2):
            scale = rng.uniform(0.001, 0.1)
            rows.append({0: b"", 2: np.float16(scale).tobytes(), 4: np.float32(scale).tobytes()}[header])
            blocks = noise(rng, 2 * size).reshape(2, size)
            if header == 0:
                blocks[:, 0:2] = np.array([[0.01], [-0.02]], "<f2").view(np.uint8)
            rows.append(blocks.tobytes())
        hand.tensor(name.lower() + ".weight", (2, 512), kind, b"".join(rows), name)
    packed = noise(rng, 4 * 26).reshape(4, 26)
    packed[:, 0:2] = np.array([[0.01]] * 4, "<f2").view(np.uint8)
    hand.tensor("q6_0.weight", (2, 64), 133, packed.tobytes(), "Q6_0")
    hand.tensor("last", (4,), T.F32, before.tobytes(), "F32")
    hand.save(os.path.join(out, "ik-llama-types.gguf"), type_ids=True)

    # BitNet's fork gives id 36 to I2_S: two-bit codes for the whole tensor, then 32 bytes of which
    # the first four are the float32 scale.
    hand = Hand()
    hand.pair("general.architecture", V.STRING, "bitnet-b1.58")
    hand.pair("general.file_type", V.UINT32, 40)
    codes = rng.integers(0, 3, (2 * 256 // 4, 4), dtype=np.uint8)
    packed = codes[:, 0] << 6 | codes[:, 1] << 4 | codes[:, 2] << 2 | codes[:, 3]
    tail = np.float32(0.0375).tobytes() + bytes(28)
    hand.tensor("blk.0.attn_q.weight", (2, 256), 36, packed.tobytes() + tail, "I2_S")
    hand.tensor("blk.0.attn_norm.weight", (4,), T.F32, before.tobytes(), "F32")
    hand.save(os.path.join(out, "bitnet-i2s.gguf"), type_ids=True)

    # Ollama's first gpt-oss files gave id 4 to MXFP4 blocks of 17 bytes.
    hand = Hand()
    hand.pair("general.architecture", V.STRING, "gptoss")
    hand.pair("general.file_type", V.UINT32, 4)
    blocks = noise(rng, 4 * 17).reshape(4, 17)
    blocks[:, 0] = [120, 126, 127, 130]
    hand.tensor("blk.0.ffn_up_exps.weight", (2, 64), 4, blocks.tobytes(), "MXFP4")
    hand.tensor("blk.0.attn_norm.weight", (4,), T.F32, before.tobytes(), "F32")
    hand.save(os.path.join(out, "ollama-mxfp4.gguf"), type_ids=True)

    # Types the library knows wrongly (Q8_1: it counts 40 bytes a block, ggml 36), not yet (Q2_0)
    # or no longer (the interleaved Q4_0 kinds).
    hand = Hand()
    hand.pair("general.architecture", V.STRING, "llama")
    hand.pair("general.quantization_version", V.UINT32, 2)
    for name, kind, elements, size in [
        ("Q8_1", 9, 32, 36), ("Q2_0", 42, 64, 18), ("Q4_0_4_4", 31, 32, 18),
        ("Q4_0_4_8", 32, 32, 18), ("Q4_0_8_8", 33, 32, 18),
    ]:  # fmt: skip
        rows = 8
        count = rows * 64 // elements
        blocks = noise(rng, count * size).reshape(count, size)
        if name == "Q8_1":
            scale = rng.uniform(0.001, 0.1, count).astype("<f2")
            sums = blocks[:, 4:].view(np.int8).sum(axis=1) * scale.astype(np.float32)
            blocks[:, 0:2] = scale.view(np.uint8).reshape(count, 2)
            blocks[:, 2:4] = sums.astype("<f2").view(np.uint8).reshape(count, 2)
        elif name == "Q2_0":
            scale = rng.uniform(0.001, 0.1, count).astype("<f2")
            blocks[:, 0:2] = scale.view(np.uint8).reshape(count, 2)
        hand.tensor(name.lower() + ".weight", (rows, 64), kind, blocks.tobytes(), name)
    hand.tensor("last", (4,), T.F32, before.tobytes(), "F32")
    hand.save(os.path.join(out, "uncommon-types.gguf"), type_ids=True)


def flattened(out):
    """As ComfyUI-GGUF's converter stores tensors whose rows are not made of whole blocks: as rows of
    256 elements, with the shape in an array of i32. `flattened.expected.safetensors` has the
    values that gguf-py decodes, in those shapes."""
    path = os.path.join(out, "flattened.gguf")
    writer = GGUFWriter(path, "wan")
    expected = {}
    tensors = [
        ("patch_embedding.weight", (8, 3, 1, 4, 8), T.Q8_0),
        ("blocks.0.conv.weight", (6, 128), T.Q4_0),
        ("blocks.0.odd.weight", (32, 6, 4), T.Q5_1),
        ("blocks.0.plain.weight", (4, 2, 2, 4, 4), T.F16),
        ("head.weight", (2, 256), T.Q8_0),
    ]
    for seed, (name, shape, kind) in enumerate(tensors):
        numbers = values(generator(240 + seed), np.float32, shape)
        numbers = np.nan_to_num(numbers, posinf=1.0, neginf=-1.0).clip(-4, 4)
        if shape[-1] % 256:
            numbers = numbers.reshape(-1, 256)
            writer.add_array("comfy.gguf.orig_shape." + name, list(shape))
        if kind == T.F16:
            stored = numbers.astype(np.float16)
            writer.add_tensor(name, stored)
            expected[name] = stored.astype(np.float32).reshape(shape)
        else:
            stored = gguf.quants.quantize(numbers, kind)
            writer.add_tensor(name, stored, raw_dtype=kind)
            expected[name] = gguf.quants.dequantize(stored, kind).astype(np.float32).reshape(shape)
    close(writer)
    expect_from_reader(path)
    save_file(expected, os.path.join(out, "flattened.expected.safetensors"))


def main():
    logging.disable(logging.CRITICAL)
    here = os.path.dirname(os.path.abspath(__file__))
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../tests/files/gguf")
    os.makedirs(out, exist_ok=True)
    key_values(out)
    no_tensors(out)
    tensor_types(out)
    shapes(out)
    alignments(out)
    vocabulary(out)
    big_endian(out)
    split(out, "split", first_empty=False)
    split(out, "split-no-tensor-first", first_empty=True)
    old_versions(out)
    by_hand(out)
    flattened(out)


if __name__ == "__main__":
    main()
