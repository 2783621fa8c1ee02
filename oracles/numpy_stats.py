"""Writes numpy_stats.json: arrays, and what numpy says of their numbers.

Each case has the type, the shape, the stored little-endian bytes in hexadecimal and the figures. Quantiles are
those of numpy's method `inverted_cdf`, and none where numbers are beyond what float32 holds. Run without arguments to rewrite the file in place.
"""

import json
import pathlib
import sys

import numpy as np


def cases():
    rng = np.random.default_rng(3)
    plain = (rng.standard_normal((40, 48)) * 0.02).astype(np.float32)
    yield "plain", plain
    odd = plain.copy()
    odd[3, 5] = np.nan
    odd[7, 0] = -np.inf
    odd[7, 1] = np.inf
    yield "not-finite", odd
    dead = plain.copy()
    dead[[2, 17]] = 0
    dead[:, [0, 13, 47]] = -0.0
    yield "dead", dead
    exploded = plain.copy()
    exploded[11] *= 5000
    yield "exploded", exploded
    outlier = (rng.standard_normal((64, 64)) * 0.01).astype(np.float32)
    outlier[8, 9] = 3
    yield "outlier", outlier
    saturated = np.clip((rng.standard_normal((32, 64))).astype(np.float32), -0.5, 0.5)
    yield "saturated", saturated
    yield "half", (rng.standard_normal((4, 5, 33)) * 3).astype(np.float16)
    yield "filters", rng.standard_normal((8, 6, 3, 3)).astype(np.float32)
    yield "vector", (1 + rng.standard_normal(97) * 0.1).astype(np.float32)
    yield "constant", np.ones((16,), np.float32)
    yield "zero", np.zeros((4, 40), np.float32)
    yield "double", rng.standard_normal((6, 40)) * 1e200
    yield "small-double", rng.standard_normal((6, 40)) * 1e-20
    yield "long", rng.integers(-(1 << 40), 1 << 40, (5, 33))
    yield "bytes", rng.integers(0, 255, (5, 33), dtype=np.uint8)
    yield "flags", np.arange(40) % 3 == 0
    yield "scalar", np.array(2.5, np.float32)
    yield "empty", np.zeros((0, 4), np.float32)


NAMES = {"float32": "F32", "float16": "F16", "float64": "F64", "bool": "BOOL"}


def figures(array):
    wide = array.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    found = {
        "zeros": int((wide == 0).sum()),
        "nan": int(np.isnan(wide).sum()),
        "infinite": int(np.isinf(wide).sum()),
    }
    if finite.size:
        with np.errstate(over="ignore", invalid="ignore"):
            found |= {"mean": float(finite.mean()), "deviation": float(finite.std())}
        found |= {"min": float(finite.min()), "max": float(finite.max())}
        hidden = np.ma.masked_invalid(wide)
        for key, at in (("min_index", hidden.argmin()), ("max_index", hidden.argmax())):
            found[key] = [int(x) for x in np.unravel_index(at, wide.shape)]
        percents = (1, 5, 25, 50, 75, 95, 99)
        values = np.percentile(finite, percents, method="inverted_cdf")
        if np.abs(finite).max() > np.finfo(np.float32).max:
            values = [None] * len(percents)
        found["quantiles"] = {str(p): None if v is None else float(v) for p, v in zip(percents, values)}
    if array.ndim == 2 and array.size:
        found["dead_rows"] = int((wide == 0).all(axis=1).sum())
        found["dead_columns"] = int((wide == 0).all(axis=0).sum())
    return {key: None if isinstance(v, float) and not np.isfinite(v) else v for key, v in found.items()}


def main():
    there = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    folder = there if there.is_dir() else there.parent
    lines = []
    for name, array in cases():
        case = {
            "name": name,
            "dtype": NAMES.get(array.dtype.name) or array.dtype.name.replace("uint", "U").replace("int", "I"),
            "shape": list(array.shape),
            "bytes": array.astype(array.dtype.newbyteorder("<")).tobytes().hex(),
            "figures": figures(array),
        }
        lines.append(json.dumps(case))
    text = "[\n" + ",\n".join(lines) + "\n]\n"
    (folder / "numpy_stats.json").write_text(text)
    print(len(lines), "cases,", len(text), "bytes")


main()
