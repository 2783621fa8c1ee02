"""Writes the expectation file that stands beside every sample.

A sample `NAME.EXT` has a neighbour `NAME.EXT.expect.json`:

    {"writer": "numpy 2.4.6",
     "format": "npz",
     "tensors": [{"name": "w", "shape": [2, 3], "dtype": "F32", "sha256": "..."}],
     "metadata": {},
     "refused": []}

Rules shared by all generators:

* `tensors` follows the order of the file.
* `shape` is outermost dimension first.
* `dtype` is safetensors' name (F32, BF16, F8_E4M3, ...), or ggml's name for a block type, or null
  where the canonical reader has no numbers to offer.
* `sha256` is over the tensor's row-major little-endian bytes, or null where `dtype` is null.
* `refused` names the tensors that are listed but cannot be read as numbers.
* A float that JSON cannot hold is one of the strings "NaN", "Infinity", "-Infinity".

Typical use:

    e = Expect("torch 2.15.0", "torch")
    e.array("w", ndarray)                 # dtype and bytes taken from a numpy array
    e.raw("b", [4], "BF16", raw_bytes)    # already little-endian, row-major
    e.refuse("strings", [3])              # listed, not readable
    e.metadata["key"] = "value"
    e.extra["anything"] = [1, 2]          # further top-level members
    e.save(sample_path)                   # writes sample_path + ".expect.json"
"""

import hashlib
import json
import math
import os

DTYPE_NAMES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "uint16": "U16",
    "int32": "I32",
    "uint32": "U32",
    "int64": "I64",
    "uint64": "U64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
    "complex128": "C128",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e8m0fnu": "F8_E8M0",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
}


def sha256(data):
    return hashlib.sha256(bytes(data)).hexdigest()


def little_endian_bytes(array):
    """Row-major little-endian bytes of a numpy array of any order and byte order."""
    dtype = array.dtype
    if dtype.byteorder == ">":
        array = array.astype(dtype.newbyteorder("<"))
    return array.tobytes(order="C")


def _plain(value):
    """Replaces what JSON cannot carry: floats that are not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            return "NaN"
        return "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


class Expect:
    def __init__(self, writer, format):
        self.writer = writer
        self.format = format
        self.tensors = []
        self.metadata = {}
        self.refused = []
        self.extra = {}

    def raw(self, name, shape, dtype, data):
        self.tensors.append(
            {
                "name": name,
                "shape": [int(n) for n in shape],
                "dtype": dtype,
                "sha256": sha256(data),
            }
        )

    def array(self, name, array, dtype=None):
        dtype = dtype or DTYPE_NAMES[array.dtype.name]
        self.raw(name, array.shape, dtype, little_endian_bytes(array))

    def refuse(self, name, shape, dtype=None):
        """`dtype` stays null unless the format names the type but nobody can size it."""
        self.tensors.append(
            {
                "name": name,
                "shape": [int(n) for n in shape],
                "dtype": dtype,
                "sha256": None,
            }
        )
        self.refused.append(name)

    def text(self):
        def one(value):
            return json.dumps(_plain(value), ensure_ascii=True, allow_nan=False)

        members = [("writer", one(self.writer)), ("format", one(self.format))]
        if self.tensors:
            rows = ",\n".join("  " + one(tensor) for tensor in self.tensors)
            members.append(("tensors", "[\n" + rows + "\n ]"))
        else:
            members.append(("tensors", "[]"))
        for key, value in [("metadata", self.metadata)] + list(self.extra.items()):
            if isinstance(value, dict) and value:
                rows = ",\n".join("  " + one(k) + ": " + one(v) for k, v in value.items())
                members.append((key, "{\n" + rows + "\n }"))
            else:
                members.append((key, one(value)))
        members.append(("refused", one(self.refused)))
        return "{\n" + ",\n".join(f' "{k}": {v}' for k, v in members) + "\n}\n"

    def save(self, sample):
        """Writes the expectation of the file or directory `sample` beside it."""
        path = os.fspath(sample).rstrip("/") + ".expect.json"
        with open(path, "w", encoding="ascii", newline="\n") as out:
            out.write(self.text())
        return path
