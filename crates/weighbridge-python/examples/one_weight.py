"""Reads some rows of one weight from a model that does not fit into memory, and counts the bytes.

    python one_weight.py [MODEL [NAME]]

Without arguments the model is a sparse file of 600 GB. It takes a few kilobytes on disk: only its
header and four rows are written.
"""

import json
import sys
import tempfile
from pathlib import Path

# Imported first, so that loading them is not counted.
import ml_dtypes  # noqa: F401
import numpy  # noqa: F401

import weighbridge as wb

ROWS, COLUMNS, WEIGHTS = 131_072, 8_192, 280
FIRST = 100_000


def sparse_file(path: Path) -> Path:
    """A sparse safetensors file: 280 weights of 2 GiB each. Only four rows are written."""
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
    """Bytes that this process has read so far, as counted by Linux."""
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
        # Reading the counter counts too, about a hundred bytes.
        print(f"read: {opened - before} bytes to open the model, {done - opened} for the rows")


if len(sys.argv) > 1:
    show(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
else:
    with tempfile.TemporaryDirectory() as folder:
        show(sparse_file(Path(folder) / "600-GB.safetensors"), "layers.123.weight")
