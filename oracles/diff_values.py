"""Writes what numpy finds between pairs of models, in double precision.

`tests/files/diff/` gets two files of seeded random numbers with everything that is awkward to compare (A in
single precision and wide types, B rounded, disturbed, or of another type), and `expected.json` with the figures of each pair
of tensors: of those two files, and of models under `tests/files` whose numbers a canonical library has decoded.

Differences count where both sides are finite; two NaNs are the same. Needs requirements-containers.txt.
"""
import json
import os
import struct

import ml_dtypes
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = os.path.join(HERE, "..", "tests", "files")
NUMBERS = {
    "BOOL": np.bool_, "U8": np.uint8, "I8": np.int8, "U16": np.uint16, "I16": np.int16, "U32": np.uint32,
    "I32": np.int32, "U64": np.uint64, "I64": np.int64, "F16": np.float16, "BF16": ml_dtypes.bfloat16,
    "F32": np.float32, "F64": np.float64,
}
NAMES = {np.dtype(numbers): name for name, numbers in NUMBERS.items()}


def read(path):
    """Every tensor of a safetensors file, by name."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        start, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[start:end], NUMBERS[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def write(path, tensors):
    header, data = {}, b""
    for name, values in tensors.items():
        raw = np.ascontiguousarray(values).tobytes()
        header[name] = {"dtype": NAMES[values.dtype], "shape": list(values.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def figures(a, b):
    a, b = (np.asarray(side).reshape(-1).astype(np.float64) for side in (a, b))
    nan = np.isnan(a) & np.isnan(b)
    same = nan | (a.view(np.uint64) == b.view(np.uint64))
    both = np.isfinite(a) & np.isfinite(b)
    x, y = a[both], b[both]
    d = x - y
    square_a, square_b, square = (float(np.sum(v * v)) for v in (x, y, d))
    out = {
        "elements": a.size, "identical": int(same.sum()), "unlike": int((~both & ~same).sum()),
        "nan_a": int(np.isnan(a).sum()), "nan_b": int(np.isnan(b).sum()),
        "inf_a": int(np.isinf(a).sum()), "inf_b": int(np.isinf(b).sum()),
    }
    for side, values in (("a", a[np.isfinite(a)]), ("b", b[np.isfinite(b)])):
        out["mean_" + side] = float(values.mean()) if values.size else None
        out["std_" + side] = float(values.std()) if values.size else None
    if x.size:
        out["max_abs"] = float(np.abs(d).max())
        out["max_abs_index"] = int(np.flatnonzero(both)[np.argmax(np.abs(d))])
        out["mean_abs"] = float(np.abs(d).mean())
        out["rmse"] = float(np.sqrt(np.mean(d * d)))
        out["relative"] = 0.0 if square == 0 else None if square_a == 0 else float(np.sqrt(square) / np.sqrt(square_a))
        out["snr_db"] = None if square == 0 or square_a == 0 else float(10 * np.log10(square_a / square))
        dot = float(np.sum(x * y))
        out["cosine"] = (1.0 if square_a == square_b == 0 else 0.0 if square_a == 0 or square_b == 0
                         else dot / (np.sqrt(square_a) * np.sqrt(square_b)))
    return out


def awkward():
    """Two models with what is awkward about numbers."""
    rng = np.random.default_rng(6)
    bf16 = ml_dtypes.bfloat16
    a, b = {}, {}

    def pair(name, in_a, in_b):
        a[name], b[name] = in_a, in_b

    normal = rng.standard_normal((70, 48)).astype(np.float32)
    pair("rounded.bf16", normal, normal.astype(bf16))
    pair("rounded.f16", normal, normal.astype(np.float16))
    noisy = normal.copy()
    noisy += (0.05 * rng.standard_normal(normal.shape)).astype(np.float32)
    pair("noisy", normal, noisy)
    pair("noisy.bf16", normal, noisy.astype(bf16))
    other = normal.copy()
    other[37, 5] += 1
    pair("one.element", normal, other)
    row = normal.copy()
    row[40] = -row[40]
    pair("one.row.negated", normal, row)
    pair("permuted", normal, normal[rng.permutation(70)])
    near = (1000 + 1e-3 * rng.standard_normal(5000)).astype(np.float32)
    pair("far.from.zero", near, (near.astype(np.float64) + 1e-3 * rng.standard_normal(5000)).astype(np.float32))
    zero = np.zeros(1500, np.float32)
    pair("zero.a", zero, normal.reshape(-1)[:1500])
    pair("zero.b", normal.reshape(-1)[:1500], zero)
    signs = zero.copy()
    signs[::3] = -0.0
    pair("zero.signs", zero, signs)
    odd_a, odd_b = normal.copy(), noisy.copy()
    odd_a[3, 3] = odd_b[3, 3] = np.nan
    odd_a[9, 9] = odd_b[9, 9] = np.inf
    odd_a[60, 1] = np.nan
    odd_b[61, 2] = -np.inf
    pair("not.finite", odd_a, odd_b)
    pair("nothing.finite", np.full(10, np.nan, np.float32), np.ones(10, np.float32))
    tiny = (rng.standard_normal(3000) * 1e-42).astype(np.float32)
    pair("subnormal", tiny, (tiny * np.float32(1.5)))
    double = rng.standard_normal((70, 30))
    pair("double", double, double * (1 + 1e-12))
    pair("double.f32", double, double.astype(np.float32))
    long = rng.integers(-2**40, 2**40, 500)
    pair("long", long, long + rng.integers(-3, 3, 500))
    pair("integers", rng.integers(-100, 100, 300, dtype=np.int32), rng.integers(-100, 100, 300, dtype=np.int32))
    pair("bytes", rng.integers(0, 255, 300).astype(np.uint8), rng.integers(0, 255, 300).astype(np.uint8))
    pair("large", (rng.standard_normal(5_000) * 1e30).astype(np.float32), (rng.standard_normal(5_000) * 1e30).astype(np.float32))
    pair("empty", np.zeros((0, 4), np.float32), np.zeros((0, 4), np.float32))
    return a, b


# Models whose numbers a canonical library has decoded, to single precision and to their own type.
DECODED = ["fp8/hf-block", "fp8/modelopt-fp8", "bnb/nf4-plain", "bnb/fp4-plain", "nvfp4/modelopt", "mx/gpt-oss",
           "mlx/widths", "compressed/int4-g32-f16", "compressed/w8a8", "compressed/mxfp8", "mixed/modelopt"]


def main():
    folder = os.path.join(FILES, "diff")
    os.makedirs(folder, exist_ok=True)
    a, b = awkward()
    write(os.path.join(folder, "a.safetensors"), a)
    write(os.path.join(folder, "b.safetensors"), b)
    pairs = [{"a": "diff/a.safetensors", "b": "diff/b.safetensors", "tensors": {n: figures(a[n], b[n]) for n in a}}]
    for name in DECODED:
        singles = read(os.path.join(FILES, name, "expected-f32.safetensors"))
        own = read(os.path.join(FILES, name, "expected.safetensors"))
        tensors = {n: figures(singles[n], own[n]) for n in own if n in singles}
        assert tensors, name
        pairs.append({"a": name, "b": name + "/expected.safetensors", "tensors": tensors})
    with open(os.path.join(folder, "expected.json"), "w") as file:
        json.dump(pairs, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
