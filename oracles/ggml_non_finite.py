#!/usr/bin/env python3
"""Write tests/files/encoded/non-finite.json: what ggml stores for NaN and infinity in blocks of four bits.

Two blocks of 64 numbers, one of which is not finite. JSON has no such numbers, so they are texts.

Usage: ggml_non_finite.py LIBRARY [project folder]
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
from ggml import Ggml


def shown(values):
    return [value if math.isfinite(value) else str(value) for value in values.flatten().tolist()]


def row(ggml, kind, bad):
    values = ((np.arange(128) * 37 % 129 - 64) / 64).astype(np.float32).reshape(2, 64)
    values[0, 7] = float(bad)
    blocks = ggml.quantize(kind, values, np.ones(64))
    decoded = shown(ggml.decode(kind, blocks.tobytes()))
    return dict(kind=kind.name, bad=bad, values=shown(values), blocks=blocks.flatten().tolist(), decoded=decoded)


if __name__ == "__main__":
    ggml = Ggml(sys.argv[1])
    root = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent.parent
    kinds = [kind for kind in ggml.types if kind.name in ("NVFP4", "MXFP4")]
    rows = [row(ggml, kind, bad) for kind in kinds for bad in ("nan", "inf", "-inf")]
    path = root / "tests/files/encoded/non-finite.json"
    path.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
