"""Rows: every index gives what numpy gives of the whole array, and the whole is not decoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weighbridge as wb
from shared import BESIDE, FILES, TINY, fixtures, same_bits, short, written_file

SLICES = [
    slice(None),
    slice(0, 1),
    slice(1, None),
    slice(None, -1),
    slice(-2, None),
    slice(-100, 100),
    slice(2, 5),
    slice(5, 2),
    slice(3, 3),
    slice(100, 200),
    slice(None, None, 2),
    slice(1, None, 3),
    slice(None, None, -1),
    slice(5, 1, -2),
    slice(-1, None, -3),
    slice(1, 5, -1),
    slice(0, 2, 100),
    slice(None, 0, -1),
]


def opened_by(fixture: Path) -> Path:
    """The file that stands for a fixture's model, which lies beside its expectations."""
    for pattern in ("*.index.json", "*.safetensors", "*.npz", "*.bin"):
        for file in sorted(fixture.glob(pattern)):
            if file.name not in BESIDE:
                return file
    raise AssertionError(f"{fixture} has no model")


def of_every_scheme() -> list[tuple[Path, str]]:
    """A weight of each scheme and variant that the samples have."""
    found: dict[tuple[str, str], tuple[Path, str]] = {}
    places = [TINY, FILES / "ggml" / "blocks.gguf", FILES / "apr" / "blocks.apr"]
    for path in [*places, *map(opened_by, fixtures())]:
        with wb.open(path) as model:
            for weight in model.values():
                if weight.undecodable is None and weight.ndim > 0:
                    found.setdefault((weight.scheme, weight.variant), (path, weight.name))
    schemes = {scheme for scheme, _ in found}
    assert {"plain", "gptq", "awq", "ggml", "fp8", "nvfp4", "bnb"} <= schemes, schemes
    assert len(found) > 50
    return list(found.values())


def check_all(weight: wb.Weight) -> None:
    whole = weight.numpy()
    for rows in SLICES:
        found = weight[rows]
        assert same_bits(found, whole[rows]), rows
        if rows.step in (None, 1):
            assert same_bits(weight.read(rows=rows), whole[rows]), rows
            tensor = weight.tensor(rows=rows)
            assert tuple(tensor.shape) == whole[rows].shape
            assert bytes(tensor) == whole[rows].tobytes(), rows
    for row in (0, -1, len(whole) // 2, np.int64(0)):
        assert same_bits(np.asarray(weight[row]), np.asarray(whole[row])), row
    for row in (len(whole), -len(whole) - 1, 10**30):
        with pytest.raises(IndexError):
            weight[row]
    mask = np.arange(len(whole)) % 3 == 0
    keys: list[Any] = [..., None, (), mask, [0, -1], (..., 0), (slice(1, 3), ...), (None, 0)]
    if weight.ndim > 1:
        keys += [(slice(2, 5), 0), (0, 0), (0, slice(1, 3)), (slice(None, None, -2), -1)]
        keys += [(slice(0, 2), [0, 1]), (mask, 0), ([0, 0], [0, 1]), (slice(1, 3), None)]
        keys += [(0, ...), (0, None), whole == whole]
    for key in keys:
        assert same_bits(np.asarray(weight[key]), np.asarray(whole[key])), key
    assert len(weight) == len(whole)
    for one, other in zip(weight, whole, strict=True):
        assert same_bits(np.asarray(one), np.asarray(other))


@pytest.mark.parametrize(
    ("path", "name"), of_every_scheme(), ids=lambda one: short(one) if isinstance(one, Path) else one
)
def test_rows_of_every_scheme(path: Path, name: str) -> None:
    with wb.open(path) as model:
        check_all(model[name])


@pytest.fixture
def shapes(tmp_path: Path) -> wb.Model:
    numbers = np.arange(120, dtype=np.float32)
    raw = numbers.tobytes()
    return wb.open(
        written_file(
            tmp_path / "shapes.safetensors",
            {
                "scalar": ("F32", [], raw[4:8]),
                "vector": ("F32", [120], raw),
                "cube": ("F32", [6, 4, 5], raw),
                "four": ("I16", [5, 4, 3, 4], raw),
                "none": ("F32", [0, 7], b""),
                "narrow": ("BF16", [4, 0], b""),
                "single": ("F16", [1, 1], raw[:2]),
            },
        )
    )


@pytest.mark.parametrize("name", ["vector", "cube", "four"])
def test_rows_of_every_shape(shapes: wb.Model, name: str) -> None:
    check_all(shapes[name])


def test_rows_of_one_and_of_none(shapes: wb.Model) -> None:
    for name in ("none", "narrow", "single"):
        weight = shapes[name]
        whole = weight.numpy()
        assert whole.shape == weight.shape
        for rows in SLICES:
            assert same_bits(weight[rows], whole[rows]), (name, rows)
    with pytest.raises(IndexError):
        shapes["none"][0]
    assert list(shapes["none"]) == [] and len(shapes["none"]) == 0


def test_without_dimensions(shapes: wb.Model) -> None:
    weight = shapes["scalar"]
    assert weight.numpy().shape == () and weight.numpy() == 1.0 and weight.size == 1
    assert weight[()] == 1.0 and weight[...].shape == () and weight[None].shape == (1,)
    assert bytes(weight.tensor()) == np.float32(1).tobytes()
    with pytest.raises(TypeError):
        len(weight)
    for key in (0, slice(None)):
        with pytest.raises(IndexError):
            weight[key]
    with pytest.raises(wb.UsageError):
        weight.read(rows=slice(0, 1))
    with pytest.raises(wb.UsageError):
        weight.tensor(rows=slice(0, 1))


def test_what_is_no_index(shapes: wb.Model) -> None:
    weight = shapes["cube"]
    whole = weight.numpy()
    assert weight[True].shape == whole[True].shape == (1, 6, 4, 5)
    for key in ("a", 1.5, (0, 0, 0, 0), np.ones(3, bool)):
        with pytest.raises(IndexError):
            weight[key]
    with pytest.raises(wb.UsageError, match="step"):
        weight.read(rows=slice(None, None, 2))
    for rows in (3, (0, 3), "0:3"):
        with pytest.raises(TypeError, match="slice"):
            weight.read(rows=rows)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="slice"):
            weight.tensor(rows=rows)  # type: ignore[arg-type]


def test_rows_are_new_memory(shapes: wb.Model) -> None:
    rows = shapes["cube"][1:3]
    rows[...] = 0
    assert shapes["cube"][1, 0, 0] == 20.0
