"""Writes what plain elements are as f32: every code of the 8-bit floats, and every tensor of the
sample with all dtypes, widened by numpy and ml_dtypes.

Output: `tests/files/plain/NAME.f32.bin` (little-endian f32) and `list.json`. Give a directory to write elsewhere.
"""
import json
import os
import struct
import sys

import ml_dtypes
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = os.path.join(HERE, "..", "tests", "files")

EIGHT_BITS = {
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
}
NUMBERS = {
    "BOOL": np.bool_, "U8": np.uint8, "I8": np.int8, "U16": np.uint16, "I16": np.int16, "U32": np.uint32,
    "I32": np.int32, "U64": np.uint64, "I64": np.int64, "F16": np.float16, "BF16": ml_dtypes.bfloat16,
    "F32": np.float32, "F64": np.float64, **EIGHT_BITS,
}


def stored_tensors(path):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] in NUMBERS:
            start, end = (8 + length + offset for offset in entry["data_offsets"])
            yield name, entry["dtype"], data[start:end]


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(FILES, "plain")
    os.makedirs(folder, exist_ok=True)
    listed = {"codes": [], "sample": "safetensors/dtypes.safetensors", "tensors": []}

    def write(name, values):
        with np.errstate(over="ignore", invalid="ignore"):
            widened = values.astype(np.float32)
        with open(os.path.join(folder, name + ".f32.bin"), "wb") as file:
            file.write(widened.astype("<f4").tobytes())

    for name, dtype in EIGHT_BITS.items():
        write("codes_" + name, np.arange(256, dtype=np.uint8).view(dtype))
        listed["codes"].append(name)
    for name, dtype, data in stored_tensors(os.path.join(FILES, listed["sample"])):
        write(name, np.frombuffer(data, NUMBERS[dtype]))
        listed["tensors"].append(name)
    with open(os.path.join(folder, "list.json"), "w") as file:
        json.dump(listed, file, indent=1)
        file.write("\n")


main()
