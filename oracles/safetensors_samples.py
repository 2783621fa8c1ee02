"""Samples of the safetensors container, written by the safetensors library.

Usage: python safetensors_samples.py [OUTPUT_DIR]    (default: ../tests/files/safetensors)
"""

import json
import os
import struct
import sys

import ml_dtypes
import numpy as np
import safetensors
from safetensors import TensorSpec, deserialize, safe_open, serialize
from safetensors.numpy import save

from expect import Expect
from values import generator, noise, values

LIBRARY = "safetensors " + safetensors.__version__
BY_HAND = "hand-written header, read back by " + LIBRARY


def header_of(blob):
    (length,) = struct.unpack("<Q", blob[:8])
    return json.loads(blob[8 : 8 + length])


def add_file(expect, path):
    """Adds one file's tensors, in the order of its JSON header, with bytes from the library."""
    with open(path, "rb") as file:
        blob = file.read()
    # deserialize() has no order of its own (it walks a hash map), so the header gives the order.
    seen = {name: tensor for name, tensor in deserialize(blob)}
    header = header_of(blob)
    names = [name for name in header if name != "__metadata__"]
    assert sorted(names) == sorted(seen)
    for name in names:
        tensor = seen[name]
        expect.raw(name, tensor["shape"], tensor["dtype"], tensor["data"])
    with safe_open(path, "np") as file:
        return file.metadata() or {}


def finish(path, writer, blob):
    with open(path, "wb") as file:
        file.write(blob)
    expect = Expect(writer, "safetensors")
    metadata = add_file(expect, path)
    # The library hands metadata out of a hash map; the file's own order is kept here.
    order = [k for k in (header_of(blob).get("__metadata__") or {})]
    assert sorted(order) == sorted(metadata)
    expect.metadata = {key: metadata[key] for key in order}
    expect.save(path)


def spec(dtype, shape, data):
    return TensorSpec(dtype=dtype, shape=shape, data_ptr=data.ctypes.data, data_len=data.nbytes)


def by_hand(entries, metadata=None, padding=None, text=None):
    """Builds a file from (name, dtype, shape, bytes) entries; data lies in the order given."""
    if text is None:
        header = {} if metadata is None else {"__metadata__": metadata}
        offset = 0
        for name, dtype, shape, data in entries:
            end = offset + len(data)
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, end]}
            offset = end
        text = json.dumps(header, separators=(",", ":"))
    raw = text.encode("utf-8")
    raw += b" " * (-len(raw) % 8 if padding is None else padding)
    return struct.pack("<Q", len(raw)) + raw + b"".join(bytes(entry[3]) for entry in entries)


# Every name serialize() accepts, with a numpy type that can make its values (None: raw bytes).
WRITABLE = [
    ("bool", np.bool_),
    ("uint8", np.uint8),
    ("int8", np.int8),
    ("int16", np.int16),
    ("uint16", np.uint16),
    ("int32", np.int32),
    ("uint32", np.uint32),
    ("int64", np.int64),
    ("uint64", np.uint64),
    ("float16", np.float16),
    ("bfloat16", ml_dtypes.bfloat16),
    ("float32", np.float32),
    ("float64", np.float64),
    ("complex64", np.complex64),
    ("float8_e4m3fn", ml_dtypes.float8_e4m3fn),
    ("float8_e5m2", ml_dtypes.float8_e5m2),
    ("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu),
    ("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz),
    ("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz),
    ("float4_e2m1fn_x2", None),
]


def all_dtypes(out):
    rng = generator(101)
    tensors, keep = {}, []
    for name, dtype in WRITABLE:
        data = noise(rng, 48) if dtype is None else values(rng, dtype, (4, 12))
        if name.startswith("float8"):
            # Small enough to hold every bit pattern once.
            data = np.arange(256, dtype=np.uint8).view(dtype).reshape(8, 32)
        shape = [4, 12] if dtype is None else list(data.shape)
        keep.append(data)
        tensors["t." + name] = spec(name, shape, data)
    finish(os.path.join(out, "dtypes.safetensors"), LIBRARY, serialize(tensors))

    # serialize() has no name for the two six-bit floats, but the reader knows both. Its shape
    # counts logical elements: 8 elements take 6 bytes.
    blob = by_hand(
        [
            ("six.e2m3", "F6_E2M3", [4, 8], noise(rng, 24).tobytes()),
            ("six.e3m2", "F6_E3M2", [8], noise(rng, 6).tobytes()),
            ("four", "F4", [3, 2], noise(rng, 3).tobytes()),
        ]
    )
    finish(os.path.join(out, "six-bit.safetensors"), BY_HAND, blob)


def ordinary(out):
    rng = generator(102)
    model = {
        "embed.weight": values(rng, np.float32, (6, 4)),
        "layer.0.weight": values(rng, ml_dtypes.bfloat16, (4, 4)),
        "layer.0.bias": values(rng, np.float16, (4,)),
    }
    metadata = {
        "format": "pt",
        "quote": 'a "quoted" word',
        "empty": "",
        "unicode": "Wägebrücke 秤",
        "nested": '{"group_size": 32}',
    }
    finish(os.path.join(out, "metadata.safetensors"), LIBRARY, one_order(model, metadata))

    shapes = {
        "scalar.f32": values(rng, np.float32, ()),
        "scalar.i64": np.array(-7, dtype=np.int64),
        "scalar.bool": np.array(True),
        "empty.vector": np.zeros((0,), np.float32),
        "empty.matrix": np.zeros((3, 0), np.float16),
        "empty.outer": np.zeros((0, 5, 2), np.int8),
        "one": values(rng, np.float64, (1,)),
        "six.dims": values(rng, np.uint8, (1, 2, 1, 3, 1, 2)),
    }
    finish(os.path.join(out, "shapes.safetensors"), LIBRARY, save(shapes))
    finish(os.path.join(out, "no-tensors.safetensors"), LIBRARY, save({}))
    finish(os.path.join(out, "metadata-only.safetensors"), LIBRARY, save({}, {"format": "np"}))


def one_order(tensors, metadata):
    """Saves with several metadata keys: the library writes them in hash order, which differs from
    run to run, so the metadata object is put back into the order given here."""
    blob = save(tensors, metadata)
    (length,) = struct.unpack("<Q", blob[:8])
    header = json.loads(blob[8 : 8 + length])
    assert header["__metadata__"] == metadata
    header["__metadata__"] = metadata
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    assert len(text) <= length and length - len(text) < 8
    return blob[:8] + text.ljust(length) + blob[8 + length :]


def headers(out):
    rng = generator(103)
    entries = [
        ("a", "F32", [2, 3], values(rng, np.float32, (2, 3)).tobytes()),
        ("b", "I16", [5], values(rng, np.int16, (5,)).tobytes()),
    ]
    path = lambda name: os.path.join(out, name + ".safetensors")
    # Far more spaces than alignment needs, as writers do that reserve room for later edits.
    finish(path("padded-header"), BY_HAND, by_hand(entries, {"format": "np"}, padding=1000))
    # No padding at all and an odd header length: tensors lie unaligned in the file.
    blob = by_hand(entries, {"k": "v" * 7}, padding=0)
    assert len(blob) % 2 == 1
    finish(path("unaligned-header"), BY_HAND, blob)
    # A tensor of eight-byte elements that starts at an odd offset.
    odd = [("u", "U8", [1], b"\x07"), ("f", "F64", [3], values(rng, np.float64, (3,)).tobytes())]
    finish(path("unaligned-tensor"), BY_HAND, by_hand(odd))

    # Names in an order that is neither alphabetical nor that of the data, members of each entry
    # shuffled, an unknown member, line breaks and tabs as white space, metadata in the middle.
    z = values(rng, np.float32, (2, 2)).tobytes()
    a = values(rng, np.uint8, (3,)).tobytes()
    m = values(rng, np.int32, (1, 2)).tobytes()
    text = (
        '{\n\t"m" : {"shape":[1,2], "data_offsets":[19,27], "dtype":"I32"},\r\n'
        ' "z": {"data_offsets": [ 0 , 16 ], "dtype": "F32", "shape": [2, 2]},\n'
        ' "__metadata__": {"second": "2", "first": "1"},\n'
        ' "a": {"dtype":"U8","note":{"ignored":[1,2.5,null]},"shape":[3],"data_offsets":[16,19]}\n}\n'
    )
    entries = [("z", None, None, z), ("a", None, None, a), ("m", None, None, m)]
    finish(path("any-order"), BY_HAND, by_hand(entries, text=text))


def names(out):
    rng = generator(104)
    odd = [
        "plain",
        "größe.重み.вес.🏋",
        'double"quote',
        "single'quote",
        "back\\slash",
        "new\nline",
        "carriage\rreturn",
        "tab\there",
        "\x1b[31mred\x1b[0m",
        "bell\x07and\x00nul",
        "right\u202eto left",
        "zero\u200bwidth",
        "c1\x9b31m",
        " leading and trailing ",
        "../../etc/passwd",
        "/absolute",
        "",
        "e\u0301",
        "\u00e9",
        "__metadata__2",
        "n" * 300,
    ]
    tensors = {name: values(rng, np.float32, (2,)) for name in odd}
    metadata = {"\x1b[2Jkey\n": "\x1b]0;title\x07 value\r\n"}
    finish(os.path.join(out, "names.safetensors"), LIBRARY, save(tensors, metadata))


def sharded(out):
    rng = generator(105)
    folder = os.path.join(out, "sharded")
    os.makedirs(folder, exist_ok=True)
    shards = [
        {
            "model.embed_tokens.weight": values(rng, ml_dtypes.bfloat16, (16, 8)),
            "model.layers.0.input_layernorm.weight": values(rng, ml_dtypes.bfloat16, (8,)),
        },
        {
            "model.layers.0.self_attn.q_proj.weight": values(rng, ml_dtypes.bfloat16, (8, 8)),
            "model.layers.0.self_attn.k_proj.weight": values(rng, ml_dtypes.bfloat16, (4, 8)),
            "model.layers.0.mlp.down_proj.weight": values(rng, ml_dtypes.bfloat16, (8, 12)),
        },
        {
            "model.norm.weight": values(rng, np.float32, (8,)),
            "lm_head.weight": values(rng, ml_dtypes.bfloat16, (16, 8)),
        },
    ]
    expect = Expect(LIBRARY, "safetensors")
    weight_map, total = {}, 0
    for number, tensors in enumerate(shards, 1):
        name = f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(save(tensors, {"format": "pt"}))
        expect.metadata = add_file(expect, path)
        for key, array in tensors.items():
            weight_map[key] = name
            total += array.nbytes
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))}
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "torch_dtype": "bfloat16",
        "hidden_size": 8,
        "intermediate_size": 12,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "vocab_size": 16,
    }
    for name, content in [("model.safetensors.index.json", index), ("config.json", config)]:
        with open(os.path.join(folder, name), "w", newline="\n") as file:
            file.write(json.dumps(content, indent=2) + "\n")
    expect.save(folder)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../tests/files/safetensors")
    os.makedirs(out, exist_ok=True)
    all_dtypes(out)
    ordinary(out)
    headers(out)
    names(out)
    sharded(out)


if __name__ == "__main__":
    main()
