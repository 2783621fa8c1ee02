#!/usr/bin/env python3
"""Write tests/files/encoded-mlx/non-finite.json: what `mx.quantize` stores for NaN and infinity.

Two rows of 64 numbers in float32, one of which is not finite, in integers of every width. JSON has no such
numbers, so they are texts. The float modes store finite numbers for the whole group, by casts that C++
leaves undefined. This is asserted, and nothing is written about them.

Usage: mlx_non_finite.py [project folder]
"""

import json
import math
import sys
from pathlib import Path

import mlx.core as mx
import numpy as np


def shown(array):
    return [value if math.isfinite(value) else str(value) for value in np.array(array).flatten().tolist()]


def row(bits, bad):
    values = ((np.arange(128) * 37 % 129 - 64) / 64.0).astype(np.float32).reshape(2, 64)
    values[0, 7] = float(bad)
    codes, scales, biases = mx.quantize(mx.array(values), group_size=64, bits=bits)
    codes = np.array(codes).view(np.uint8).flatten().tolist()
    for mode in ("mxfp4", "mxfp8", "nvfp4"):
        hidden = mx.dequantize(*mx.quantize(mx.array(values), mode=mode), mode=mode)
        assert np.isfinite(np.array(hidden.astype(mx.float32))).all()
    return dict(bits=bits, bad=bad, values=shown(values), codes=codes, scales=shown(scales), biases=shown(biases))


if __name__ == "__main__":
    mx.set_default_device(mx.cpu)
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent
    rows = [row(bits, bad) for bits in (2, 3, 4, 5, 6, 8) for bad in ("nan", "inf", "-inf")]
    path = root / "tests/files/encoded-mlx/non-finite.json"
    path.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
