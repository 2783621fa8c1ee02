"""Rows of one weight out of a model that fits into no memory, and how little of it is read.

    python one_weight.py [MODEL [NAME]]

Without arguments the model is a file of 600 GB that takes up a few kilobytes: nothing but its
header and four rows were ever written, and file systems do not store the rest.
"""

import json
import sys
import tempfile
from pathlib import Path

# Imported now, so that reading their files is not counted.
import ml_dtypes  # noqa: F401
import numpy  # noqa: F401

import weighbridge as wb

ROWS, COLUMNS, WEIGHTS = 131_072, 8_192, 280
FIRST = 100_000


def hollow(path: Path) -> Path:
    """280 weights of 2 GiB each, as a safetensors file with four rows in it."""
    each = ROWS * COLUMNS * 2
    header = {
        f"layers.{layer}.weight": {
            "dtype": "BF16",
            "shape": [ROWS, COLUMNS],
            "data_offsets": [layer * each, (layer + 1) * each],
        }
        for layer in range(WEIGHTS)
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    start = 8 + len(text)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(start + WEIGHTS * each)
        file.seek(start + 123 * each + FIRST * COLUMNS * 2)
        file.write(b"\x80\x3f" * (4 * COLUMNS))  # 1.0 in bfloat16
    return path


def bytes_read() -> int | None:
    """What this process has read so far; Linux counts it."""
    try:
        return int(Path("/proc/self/io").read_text().split()[1])
    except OSError:
        return None


def show(source: str | Path, name: str | None) -> None:
    before = bytes_read()
    with wb.open(source) as model:
        opened = bytes_read()
        weight = model[name or next(iter(model))]
        first = min(FIRST, max(0, len(weight) - 4))
        rows = weight[first : first + 4]
        done = bytes_read()
        stored = sum(one.nbytes for one in model.values())
        print(f"{len(model)} weights, {stored} bytes")
        print(weight)
        print(f"rows {first} to {first + len(rows)}: {rows.nbytes} bytes of {weight.nbytes}")
        print(rows[..., :4])
    if before is not None and opened is not None and done is not None:
        # Reading the count is counted as well, about a hundred bytes.
        print(f"read: {opened - before} bytes to open the model, {done - opened} for the rows")


if len(sys.argv) > 1:
    show(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
else:
    with tempfile.TemporaryDirectory() as folder:
        show(hollow(Path(folder) / "600-GB.safetensors"), "layers.123.weight")
