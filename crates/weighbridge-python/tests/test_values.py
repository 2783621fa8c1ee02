"""Every number of every fixture against what its canonical library decodes, bit for bit, in all
types and by every way of reading.

A fixture is a directory with `expected.safetensors`: the values in the library's own type, and where
the library could be run with widened scales also `expected-f32.safetensors`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import weighbridge as wb
import weighbridge.numpy
from shared import FILES, fixtures, model_of, plain_file, same_bits, samples, short

FLOATS: dict[str, Any] = {"F32": np.float32, "BF16": ml_dtypes.bfloat16, "F16": np.float16}
COUNTED: Counter[str] = Counter()


def check_ways(weight: wb.Weight, dtype: str, wanted: np.ndarray, loaded: np.ndarray) -> None:
    """All ways of reading give the same numbers."""
    numpy_type = wanted.dtype
    into = np.full(wanted.shape, 1, numpy_type)
    assert weight.read(out=into) is into
    raw = bytearray(b"\xa5" * wanted.nbytes)
    weight.read(out=raw, dtype=dtype)
    tensor = weight.tensor(dtype)
    assert (tensor.dtype, tuple(tensor.shape)) == (dtype, wanted.shape)
    found = {
        "numpy": weight.numpy(dtype.lower() if dtype in FLOATS else dtype),
        "numpy by type": weight.numpy(numpy_type),
        "out": into,
        "bytes": np.frombuffer(raw, numpy_type).reshape(wanted.shape),
        "tensor": np.frombuffer(tensor, numpy_type).reshape(wanted.shape),
        "asarray": np.asarray(weight, dtype=numpy_type),
        "load_file": loaded,
    }
    for way, array in found.items():
        assert same_bits(array, wanted), f"{weight.name} as {dtype} by {way}"
    COUNTED[dtype] += 1


def check_model(
    path: Path, expected: dict[str, np.ndarray], single: dict[str, np.ndarray]
) -> None:
    with wb.open(path) as model:
        native = weighbridge.numpy.load_file(model)
        loads = {name: weighbridge.numpy.load_file(path, dtype=name.lower()) for name in FLOATS}
        assert set(native) == set(model)
        for name, wanted in expected.items():
            weight = model[name]
            assert weight.shape == wanted.shape, name
            if weight.scheme != "plain":
                assert weight.numpy().dtype == wanted.dtype, name
            if name in single:
                assert same_bits(weight.numpy("f32"), single[name]), f"{name} in f32"
                COUNTED["widened"] += 1
            own = next((dtype for dtype, kind in FLOATS.items() if wanted.dtype == kind), None)
            if own is None:
                check_ways(weight, weight.dtype, wanted, native[name])
                COUNTED["other types"] += 1
                continue
            if weight.dtype == own:
                assert same_bits(np.asarray(weight), wanted), name
                assert same_bits(native[name], wanted), name
            check_ways(weight, own, wanted, loads[own][name])
            COUNTED["native"] += 1
            # The others are what f32 is, rounded once.
            full = weight.numpy("f32")
            for dtype in FLOATS.keys() - {own}:
                with np.errstate(over="ignore"):
                    rounded = full.astype(FLOATS[dtype])
                check_ways(weight, dtype, rounded, loads[dtype][name])
        unchecked = [w.name for w in model.values() if w.scheme != "plain"]
        assert not set(unchecked) - set(expected)


@pytest.mark.parametrize("fixture", fixtures(), ids=short)
def test_fixture(fixture: Path, tmp_path: Path) -> None:
    expected = plain_file(fixture / "expected.safetensors")
    widened = fixture / "expected-f32.safetensors"
    single = plain_file(widened) if widened.exists() else {}
    assert not set(single) - set(expected)
    check_model(model_of(fixture, tmp_path / "model"), expected, single)


def blocks() -> list[tuple[Path, Path]]:
    """Files of blocks with the values of their library; those in the other byte order have the same."""
    found = []
    for sample in samples():
        stem = str(sample.path.with_suffix("")).replace("-big-endian", "")
        golden = Path(f"{stem}.expected.safetensors")
        if golden.exists():
            found.append((sample.path, golden))
    assert len({golden for _, golden in found}) == len(list(FILES.rglob("*.expected.safetensors")))
    return found


@pytest.mark.parametrize(("path", "golden"), blocks(), ids=lambda path: short(path))
def test_blocks(path: Path, golden: Path) -> None:
    expected = plain_file(golden)
    loads = {name: weighbridge.numpy.load_file(path, dtype=name.lower()) for name in FLOATS}
    with wb.open(path) as model:
        assert set(model) == set(expected)
        for name, wanted in expected.items():
            weight = model[name]
            for dtype, kind in FLOATS.items():
                if weight.variant == "F64" and dtype != "F32":
                    continue  # Its golden is rounded to f32 already.
                with np.errstate(over="ignore", invalid="ignore"):
                    rounded = wanted.astype(kind)
                loaded = loads[dtype][name]
                if weight.dtype.startswith("I"):
                    # Of a whole model, only floating-point numbers change their type.
                    assert same_bits(loaded, weight.numpy()), name
                    loaded = rounded
                check_ways(weight, dtype, rounded, loaded)
            COUNTED["blocks"] += 1


def test_nothing_was_left_out(request: pytest.FixtureRequest) -> None:
    names = {item.name for item in request.session.items if item.path == Path(__file__)}
    everything = {f"test_fixture[{short(path)}]" for path in fixtures()}
    if not everything <= names:
        return  # Somebody asked for some of them.
    wanted: Counter[str] = Counter()
    for fixture in fixtures():
        expected = plain_file(fixture / "expected.safetensors").values()
        floats = sum(array.dtype in FLOATS.values() for array in expected)
        wanted["native"] += floats
        wanted["other types"] += len(expected) - floats
        widened = fixture / "expected-f32.safetensors"
        wanted["widened"] += len(plain_file(widened)) if widened.exists() else 0
    for _, golden in blocks():
        wanted["blocks"] += len(plain_file(golden))
    assert {kind: COUNTED[kind] for kind in wanted} == wanted
    assert wanted["native"] >= 443 and wanted["widened"] >= 257 and wanted["blocks"] >= 185, wanted
