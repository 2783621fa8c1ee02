#!/usr/bin/env python3
"""Write tests/files/encoded-bnb/non-finite.json: what bitsandbytes stores for NaN and infinity.

Two rows of 64 numbers, one of which is not finite. As `bnb_encoded.py`, with bitsandbytes' own torch code.
JSON has no such numbers, so they are texts. With nested scales, the state that the library saves is no
JSON: its `nested_offset` is NaN or Infinity, and all numbers of the weight decode to NaN. This is
asserted, and nothing is written about it.

Usage: bnb_non_finite.py [project folder]
"""

import json
import math
import sys
from pathlib import Path

import bnb_encoded
import torch
from bitsandbytes import functional as F

BAD = ("nan", "inf", "-inf")


def shown(tensor):
    return [value if math.isfinite(value) else str(value) for value in tensor.flatten().tolist()]


def four_bits(values, kind):
    codes, state = F.quantize_4bit(values, blocksize=64, quant_type=kind)
    _, nested = F.quantize_4bit(values, blocksize=64, quant_type=kind, compress_statistics=True)
    decoded = F.dequantize_4bit(codes, nested)
    assert not math.isfinite(nested.offset) and decoded.isnan().all()
    return codes, state.absmax


def row(kind, bad):
    values = ((torch.arange(128) * 37 % 129 - 64) / 64.0).reshape(2, 64)
    values[0, 7] = float(bad)
    if kind == "int8":
        codes, scales, _ = F.int8_vectorwise_quant(values.to(torch.float16))
    else:
        codes, scales = four_bits(values, kind)
    return dict(kind=kind, bad=bad, values=shown(values), codes=codes.view(torch.uint8).flatten().tolist(), scales=shown(scales.float()))


if __name__ == "__main__":
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent
    rows = [row(kind, bad) for kind in ("nf4", "fp4", "int8") for bad in BAD]
    path = root / "tests/files/encoded-bnb/non-finite.json"
    path.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
