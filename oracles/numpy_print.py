"""Writes numpy_print.json: arrays, and the text that numpy prints for them.

Each case has the type, the shape, the stored little-endian bytes in hexadecimal, and the text for one or
several widths of a line. Run without arguments to rewrite the file in place.
"""

import json
import pathlib
import sys

import numpy as np


def cases():
    rng = np.random.default_rng(17)
    f32, f16, f64 = np.float32, np.float16, np.float64
    special = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf]
    for dtype in (f32, f16, f64):
        yield np.array(special, dtype)
        yield np.array([np.nan, np.nan], dtype)
        yield np.array([np.inf, -np.inf], dtype)
        yield np.array([np.nan, 12345.0], dtype)
        yield np.array([-np.inf, 1.0], dtype)
        yield np.array([0.0, 0.0], dtype)
        yield np.array([-0.0], dtype)
        yield np.array([0.1, 0.2, 0.3], dtype)
        yield np.array([1 / 3, 2 / 3, 100], dtype)
        yield np.array([1e-4, 1.0], dtype)
        yield np.array([1.1e-4, 0.1], dtype)
        yield np.array([9e-5, 1.23456789e-5, 0.1], dtype)
        yield np.array([999.9, 1000.0], dtype)
        yield np.array([1.0, 1000.0, -1001.0], dtype)
        yield np.array([0.001, 1.0, 1.001], dtype)
        yield np.array([60000.0, 12345.0], dtype)
        yield np.array([6e-8, 1e-7], dtype)
        yield np.array([0.001953125, 0.005859375, 0.009765625], dtype)
        yield np.array([2.5, 3.5, 0.5], dtype)
        for scalar in (0.1, 1e20, -3.0, np.nan, -np.inf, 1e-7, 12345.678):
            with np.errstate(over="ignore"):
                yield np.array(scalar, dtype)
        for scale in (1e-6, 0.02, 1.0, 30.0, 3000.0):
            yield (rng.standard_normal(40) * scale).astype(dtype)
            yield (rng.standard_normal((5, 4)) * scale).astype(dtype)
        yield (rng.standard_normal((40, 30)) * 0.02).astype(dtype)
        yield (rng.standard_normal(1001) * 0.02).astype(dtype)
        yield (rng.standard_normal((3, 4, 5)) * 0.02).astype(dtype)
        yield (rng.standard_normal((9, 8, 20)) * 0.02).astype(dtype)
        yield (rng.standard_normal((2, 2, 3, 4)) * 0.02).astype(dtype)
        yield (rng.standard_normal((2, 600)) * 0.02).astype(dtype)
        yield np.round(rng.standard_normal((6, 7)) * 3).astype(dtype)
        for shape in ((0,), (0, 3), (2, 0), (1, 0, 4)):
            yield np.zeros(shape, dtype)
        yield np.array([[1.5]], dtype)
    bits = rng.integers(0, 1 << 32, 60, dtype=np.uint32).view(f32)
    yield (rng.standard_normal(1000) * 0.02).astype(f32)
    yield bits
    yield bits.reshape(10, 6)
    yield rng.integers(0, 1 << 16, 60, dtype=np.uint16).view(f16)
    yield np.array([3.4028235e38, 1.1754944e-38, 1e-45], f32)
    yield np.array([16777216.0, 123456.0, 999999.0], f32)
    yield np.array([1e6, 1.0], f32)
    yield np.array([999999.9, 1e5], f32)
    yield np.array([1e8, 1e7], f64)
    yield np.array(2.0 ** np.arange(-96, 97, 6), f32)
    yield np.array(2.0 ** np.arange(-96, 97, 6), f64)
    yield np.array(2.0 ** np.arange(-12, 8), f16)
    yield np.array([3262.28125, 4134.006], f32)
    yield np.array([99999999.0, 1e5], f64)
    yield np.array([1.7976931348623157e308, 5e-324], f64)
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        info = np.iinfo(dtype)
        yield np.array([info.min, info.max, 0, 1], dtype)
        yield rng.integers(info.min, info.max, (4, 3), dtype=dtype)
        yield np.arange(40).astype(dtype)
        yield np.zeros((0,), dtype)
        yield np.array(7, dtype)
    yield np.arange(2000, dtype=np.int64).reshape(40, 50) - 700
    yield np.array([True, False, True])
    yield np.array(True)
    yield np.array(False)
    yield np.arange(1200).reshape(30, 40) % 3 == 0
    yield np.zeros((2, 0), bool)


NAMES = {"float32": "F32", "float16": "F16", "float64": "F64", "bool": "BOOL"}


def main():
    there = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    folder = there if there.is_dir() else there.parent
    lines = []
    for array in cases():
        dtype = NAMES.get(array.dtype.name) or array.dtype.name.replace("uint", "U").replace("int", "I")
        widths = (75, 40, 120) if array.size > 6 else (75,)
        case = {
            "dtype": dtype,
            "shape": list(array.shape),
            "bytes": array.astype(array.dtype.newbyteorder("<")).tobytes().hex(),
            "texts": {width: np.array2string(array, max_line_width=width) for width in widths},
        }
        lines.append(json.dumps(case))
    text = "[\n" + ",\n".join(lines) + "\n]\n"
    (folder / "numpy_print.json").write_text(text)
    print(len(lines), "cases,", len(text), "bytes")


main()
