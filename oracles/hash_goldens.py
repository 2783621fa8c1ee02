"""Hashes of some samples, by the BLAKE3 of its authors' Python package, numpy and ml_dtypes.

Writes `tests/library/hash/goldens.json`. What a hash is made of is described in the guide
("Hashing"); this is a second implementation of that page, which shares nothing with the first.
Run without arguments, in the environment of requirements-containers.txt plus blake3==1.0.11.
"""

import json
import pathlib
import struct

import ml_dtypes
import numpy
from blake3 import blake3

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDENED = {
    "F32": numpy.dtype("<f4"),
    "F16": numpy.dtype("<f2"),
    "BF16": numpy.dtype(ml_dtypes.bfloat16),
    "F64": numpy.dtype("<f8"),
    "BOOL": numpy.dtype("?"),
    **{f"{kind.upper()}{8 * size}": numpy.dtype(f"<{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)},
}
GPTQ = ("qweight", "qzeros", "scales", "g_idx")


def number(value):
    return struct.pack("<Q", value)


def text(value):
    return number(len(value.encode())) + value.encode()


def dimensions(shape):
    return number(len(shape)) + b"".join(map(number, shape))


def stored(parts):
    """Parts are (role, type, shape, bytes)."""
    whole = text("weighbridge hash 1 stored")
    for role, dtype, shape, data in sorted(parts, key=lambda part: part[0]):
        whole += text(role) + text(dtype) + dimensions(shape) + blake3(data).digest()
    return blake3(whole).digest()


def values(array):
    numbers = numpy.ascontiguousarray(array, dtype="<f4")
    bits = numbers.reshape(-1).view("<u4").copy()
    bits[numpy.isnan(numbers.reshape(-1))] = 0x7FC00000
    whole = text("weighbridge hash 1 values")
    return blake3(whole + dimensions(array.shape or (1,)) + blake3(bits.tobytes()).digest()).digest()


def model(weights):
    whole = text("weighbridge hash 1 model")
    for name in sorted(weights, key=str.encode):
        whole += text(name) + weights[name]
    return blake3(whole).digest()


def safetensors(path):
    """Name, type, shape and bytes of everything in some files."""
    for file in sorted(path.glob("model*.safetensors")) if path.is_dir() else [path]:
        data = file.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + length])
        header.pop("__metadata__", None)
        for name, entry in header.items():
            start, end = (8 + length + offset for offset in entry["data_offsets"])
            yield name, entry["dtype"], entry["shape"], data[start:end]


def stored_weights(path):
    parts = {}
    for name, dtype, shape, data in safetensors(path):
        module, _, role = name.rpartition(".")
        if role in GPTQ:
            parts.setdefault(module + ".weight", []).append((role, dtype, shape, data))
        else:
            parts[name] = [("weight", dtype, shape, data)]
    return {name: stored(of) for name, of in parts.items()}


def value_weights(path):
    if path.suffix == ".npz":
        # numpy writes bfloat16 as two bytes without a meaning.
        known = lambda array: array.view(ml_dtypes.bfloat16) if array.dtype == "V2" else array
        return {name: values(known(array).astype("<f4")) for name, array in numpy.load(path).items()}
    numbers = lambda dtype, shape, data: numpy.frombuffer(data, WIDENED[dtype]).reshape(shape)
    return {
        name: values(numbers(dtype, shape, data).astype("<f4"))
        for name, dtype, shape, data in safetensors(path)
    }


def golden(of, path, numbers=None):
    weights = (stored_weights if of == "stored" else value_weights)(ROOT / (numbers or path))
    return {
        "path": path,
        "of": of,
        "hash": model(weights).hex(),
        "tensors": {name: weights[name].hex() for name in sorted(weights)},
    }


def main():
    quantized = ["compressed/fp8-block", "compressed/int4-g32-f16", "compressed/experts"]
    goldens = [
        golden("stored", "samples/tiny-llama-gptq"),
        golden("stored", "tests/files/names/llama/hf"),
        golden("stored", "tests/files/safetensors/shapes.safetensors"),
        golden("stored", "tests/files/safetensors/sharded"),
        golden("values", "tests/files/names/llama/hf"),
        golden("values", "tests/files/safetensors/shapes.safetensors"),
        golden("values", "tests/files/npz/deflated.npz"),
        *(
            # What the scheme's own library decodes in f32.
            golden("values", f"tests/files/{name}", f"tests/files/{name}/expected-f32.safetensors")
            for name in quantized
        ),
    ]
    target = ROOT / "tests/library/hash/goldens.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(goldens, indent=1) + "\n")


main()
