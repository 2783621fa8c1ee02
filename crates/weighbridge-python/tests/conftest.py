"""Fixtures of all tests."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

import weighbridge as wb
from shared import TINY


@pytest.fixture
def tiny() -> Iterator[wb.Model]:
    """A small model with quantized and plain weights."""
    with wb.open(TINY) as model:
        yield model


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model with plain weights, a directory."""
    place = tmp_path_factory.mktemp("plain") / "model"
    wb.dequantize(TINY, place)
    return place


@pytest.fixture(scope="session")
def importance(plain: Path) -> Path:
    """An importance matrix for that model: for each matrix, how much its columns count."""
    path = plain.parent / "imatrix.dat"
    wb.convert(plain, plain.parent / "names.gguf")
    with wb.open(plain.parent / "names.gguf") as model:
        matrices = [weight for weight in model.values() if weight.ndim == 2]
    data = struct.pack("<i", len(matrices))
    for weight in matrices:
        name, columns = weight.name.encode(), weight.shape[1]
        data += struct.pack("<i", len(name)) + name + struct.pack("<ii", 1, columns)
        data += struct.pack(f"<{columns}f", *(1 + column % 7 for column in range(columns)))
    path.write_bytes(data)
    return path
