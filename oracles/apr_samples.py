"""Expectations for the samples in tests/files/apr, by a reader of its own.

    python3 apr_samples.py              reads every tests/files/apr/*.apr, writes *.apr.expect.json
    python3 apr_samples.py --dialects   writes the samples that no canonical program writes, first

Standard library only. The reader follows the layout of the format, not any other reader; it
trusts sizes, and takes the meaning of a type's number from them where writers disagree.
"""

import glob
import json
import os
import struct
import sys
import zlib

from expect import Expect

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "files", "apr")

# Bytes for n elements; what the project's own quantizer pads is handled in `kinds`.
ELEMENT = {"F32": 4, "F16": 2, "BF16": 2, "F64": 8, "I32": 4, "I64": 8, "I8": 1, "U8": 1}
BLOCK = {
    "Q4_0": (32, 18), "Q4_1": (32, 20), "Q5_0": (32, 22), "Q5_1": (32, 24), "Q8_0": (32, 34),
    "Q8_1": (32, 36), "Q4_K": (256, 144), "Q5_K": (256, 176), "Q6_K": (256, 210),
}
IDS = {
    0: ["F32"], 1: ["F16"], 2: ["BF16", "Q4_0"], 3: ["F64", "Q4_1"], 4: ["I32"], 5: ["I64"],
    6: ["I8", "Q5_0"], 7: ["U8", "Q5_1"], 8: ["Q8_0", "APR_Q4"], 9: ["APR_Q8", "Q8_1", "Q6_K"],
    12: ["Q4_K"], 13: ["Q5_K"], 14: ["Q6_K"], 30: ["BF16"], 128: ["APR_Q4"], 129: ["APR_Q8"],
}


def sizes(kind, shape):
    """Every size a tensor of this kind and shape may have."""
    n = 1
    for dim in shape:
        n *= dim
    if kind in ELEMENT:
        return {ELEMENT[kind] * n}
    if kind == "APR_Q8":
        return {4 + n}
    if kind == "APR_Q4":
        return {18 * -(-n // 32)}
    length, width = BLOCK[kind]
    columns = shape[-1] if shape else 1
    if columns % length == 0:
        return {n // length * width}
    if kind not in ("Q4_K", "Q6_K"):
        return set()
    found = {-(-n // length) * width}
    if len(shape) == 2:
        found.add(shape[0] * -(-columns // length) * width)
    return found


def kind_of(number, shape, size):
    return next(kind for kind in IDS[number] if size in sizes(kind, shape))


def read_v2(data, e):
    flags, count, at, length, index, start = struct.unpack_from("<HIQIQQ", data, 6)
    e.metadata = json.loads(data[at : at + length])
    if data[index : index + 2] == b"[{":
        return json_entries(data[index:start].rstrip(b"\0"), start, data, e)
    position = index
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, position)
        name = data[position + 2 : position + 2 + length].decode("utf-8", "replace")
        position += 2 + length
        number, dimensions = data[position], data[position + 1]
        shape = struct.unpack_from(f"<{dimensions}Q", data, position + 2)
        position += 2 + 8 * dimensions
        offset, size = struct.unpack_from("<QQ", data, position)
        position += 16
        raw = data[start + offset : start + offset + size]
        assert len(raw) == size, name
        e.raw(name, shape, kind_of(number, shape, size), raw)


def json_entries(text, start, data, e):
    for entry in json.loads(text):
        raw = data[start + entry["offset"] : start + entry["offset"] + entry["size"]]
        if entry["dtype"] == "json":
            e.refuse(entry["name"], entry["shape"], "json")
        else:
            e.raw(entry["name"], entry["shape"], entry["dtype"], raw)


def read_apr1(data, e):
    (length,) = struct.unpack_from("<I", data, 4)
    e.metadata = json.loads(data[8 : 8 + length])
    count, width = struct.unpack_from("<II", data, 8 + length)
    start = 16 + length + width
    json_entries(data[16 + length : start], start, data, e)
    assert len(e.tensors) == count


def read_v1(data, e):
    (length,) = struct.unpack_from("<I", data, 8)
    e.metadata, _ = unpack(data[32 : 32 + length], 0)


def unpack(data, at):
    """MessagePack, as much as metadata uses: short maps, texts of every width, small numbers."""
    tag = data[at]
    if tag < 0x80:
        return tag, at + 1
    if tag < 0x90:
        out, at = {}, at + 1
        for _ in range(tag & 15):
            key, at = unpack(data, at)
            out[key], at = unpack(data, at)
        return out, at
    if 0xA0 <= tag < 0xC0:
        end = at + 1 + (tag & 31)
        return data[at + 1 : end].decode(), end
    if tag == 0xD9:
        end = at + 2 + data[at + 1]
        return data[at + 2 : end].decode(), end
    if tag in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[tag], at + 1
    raise ValueError(f"tag {tag:#x}")


def read_stage(data, e):
    layer, count = struct.unpack_from("<II", data, 4)
    e.metadata = {"layer": "model" if layer == 0xFFFFFFFF else layer}
    e.raw("stage", [count], "F32", data[12 : 12 + 4 * count])


# Nothing in these says where they end: the checksum that ends other files is missing.
FOOTERLESS = ("dialect_no_checksum.apr", "dialect_ggml_ids.apr", "dialect_json_index.apr")

READERS = {
    b"APR\0": read_v2, b"APR2": read_v2, b"APR1": read_apr1, b"APRN": read_v1, b"APRT": read_stage,
}


def writer_of(name):
    if name.startswith("golden"):
        return "tests of apr-format 0.72.3"
    if name.startswith("cli"):
        return "apr 0.72.3"
    if name.startswith(("dialect", "apr2", "stage", "emulated")):
        return "hand-written from the layout"
    return "apr-format 0.72.3"


# Samples of dialects.


def pad(data, to=64):
    return data + bytes(-len(data) % to)


def values(n):
    return bytes((7 * i + 13) % 251 for i in range(n))


def v2(path, tensors, meta, magic=b"APR\0", flags=0x0400, crc=True, sort=True, align=64, footer=True):
    """tensors: (name, number, shape, bytes); meta: bytes of JSON."""
    if sort:
        tensors = sorted(tensors, key=lambda tensor: tensor[0])
    index, data = b"", b""
    for name, number, shape, raw in tensors:
        index += struct.pack("<H", len(name)) + name + bytes([number, len(shape)])
        index += struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<QQ", len(data), len(raw))
        data = pad(data + raw, align)
    save_v2(path, pad(meta, align), len(meta), pad(index, align), data, len(tensors), magic, flags, crc, footer)


def save_v2(path, meta, length, index, data, count, magic, flags, crc, footer):
    at = 64 + len(meta)
    head = magic + b"\2\0" + struct.pack("<HIQIQQ", flags, count, 64, length, at, at + len(index))
    total = zlib.crc32(head + bytes(20)) if crc else 0
    out = head + struct.pack("<I", total) + bytes(20) + meta + index + data
    if footer:
        out += struct.pack("<I", zlib.crc32(out))
    with open(os.path.join(FOLDER, path), "wb") as file:
        file.write(out)


def write_dialects():
    ggml = [
        (b"blk.0.q8_0", 8, (2, 32), values(68)), (b"blk.0.q4_0", 2, (2, 64), values(72)),
        (b"blk.0.q4_1", 3, (32,), values(20)), (b"blk.0.q5_0", 6, (32,), values(22)),
        (b"blk.0.q5_1", 7, (32,), values(24)), (b"blk.0.q5_k", 13, (1, 256), values(176)),
        (b"blk.0.norm", 0, (4,), values(16)),
    ]
    # No checksums, unsorted, unpadded: realizar's own writer.
    v2("dialect_no_checksum.apr", ggml, b'{"model_type":"x"}', flags=0, crc=False, sort=False, align=1, footer=False)
    # Sorted and padded, with ggml's numbers and no footer: realizar's converter.
    v2("dialect_ggml_ids.apr", ggml, b'{"model_type":"x"}', flags=0x20, footer=False)
    old = [
        (b"bf16", 2, (3, 5), values(30)), (b"q4", 8, (5, 9), values(36)), (b"q8", 9, (3, 3), values(13)),
    ]
    v2("dialect_old_ids.apr", old, b'{"model_type":"x"}')
    v2("apr2_old_types.apr", old, b'{"model_type":"x"}', magic=b"APR2")
    twice = b'{"hidden_size":1,"name":"first","hidden_size":8,"tokenizer.vocabulary":[' + b",".join(b'"t%d"' % i for i in range(100)) + b"]}"
    v2("dialect_duplicate_keys.apr", [(b"a", 0, (2,), values(8))], twice)
    long = "é".encode() * 127 + b"xx"
    v2("dialect_names.apr", [(long, 0, (1,), values(4)), (b"cut\xc3", 0, (1,), values(4))], b"{}")
    text = b'{"config":{}}'
    index = json.dumps([{"name": "weights", "dtype": "json", "shape": [len(text)], "offset": 0, "size": len(text)}])
    meta = b'{"model_type":"transformer_lm"}'
    save_v2("dialect_json_index.apr", pad(meta), len(meta), pad(index.replace(" ", "").encode()), text, 1, b"APR\0", 0, True, False)
    for name, layer in (("stage_layer.apr", 3), ("stage_model.apr", 0xFFFFFFFF)):
        with open(os.path.join(FOLDER, name), "wb") as file:
            file.write(b"APRT" + struct.pack("<II5f", layer, 5, 0, 1, -2, 0.5, 1e9))


def main():
    if "--dialects" in sys.argv:
        write_dialects()
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.apr"))):
        with open(path, "rb") as file:
            data = file.read()
        e = Expect(writer_of(os.path.basename(path)), "apr")
        READERS[data[:4]](data, e)
        if os.path.basename(path) in FOOTERLESS:
            e.extra["end_unstated"] = True
        e.save(path)
        print(os.path.basename(path), len(e.tensors))


if __name__ == "__main__":
    main()
