"""The stored bytes of every sample against the sums of what its canonical library reads."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weighbridge as wb
import weighbridge.numpy
from shared import TYPES, Sample, samples, short

#: Numbers that share a byte have one each in an array, so that its bytes are others.
SHARED = {"F4", "F6_E2M3", "F6_E3M2"}
#: Types that have a name in arrays or in DLPack.
KNOWN = SHARED | set(TYPES) | {"C32", "C128", "F8_E4M3FNUZ", "F8_E5M2FNUZ"}
COUNTED: Counter[str] = Counter()


def listed(sample: Sample) -> dict[str, dict[str, Any]]:
    """What the canonical library gives a sum for, by name; of several with one name the first,
    which a mapping gives."""
    keys = ("tensors", "arrays", "constants", "attributes")
    found: dict[str, dict[str, Any]] = {}
    for key in keys:
        for one in sample.expect.get(key, []):
            found.setdefault(one["name"], one)
    return {name: one for name, one in found.items() if one.get("sha256") is not None}


def sum_of(data: Any) -> str:
    return hashlib.sha256(data).hexdigest()


def bytes_of(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def readable() -> list[Sample]:
    return [sample for sample in samples() if not sample.expect.get("refused_file")]


@pytest.mark.parametrize("sample", readable(), ids=lambda sample: short(sample.path))
def test_sums(sample: Sample) -> None:
    wanted = listed(sample)
    damaged = set(sample.expect.get("damaged", []))
    is_dangerous = bool(sample.expect.get("dangerous"))
    with wb.open(sample.path) as model:
        parts = {
            part.name: (weight, index)
            for weight in model.values()
            for index, part in enumerate(weight.parts)
        }
        for name, one in wanted.items():
            if name not in parts:
                COUNTED["not a weight"] += 1
                continue
            weight, index = parts[name]
            part = weight.parts[index]
            assert one.get("shape") in (None, list(part.shape)), name
            assert one.get("dtype") in (None, part.dtype), name
            if is_dangerous or name in damaged:
                check_refused(sample, name)
                continue
            if weight.undecodable is not None:
                with pytest.raises(wb.UnsupportedError):
                    weight.numpy("f32")
            if part.dtype not in KNOWN and weight.scheme == "plain":
                check_refused(sample, name)
                continue
            assert sum_of(weight.stored_bytes(index)) == one["sha256"], name
            COUNTED["stored"] += 1
            if weight.scheme == "plain":
                check_plain(model, weight, one["sha256"])


def check_refused(sample: Sample, name: str) -> None:
    """No way of reading gives numbers."""
    with wb.open(sample.path) as model:
        weight = model[name]
        for job in (weight.stored_bytes, weight.numpy, weight.tensor):
            with pytest.raises(wb.WeighbridgeError):
                job()
    COUNTED["refused"] += 1


def check_plain(model: wb.Model, weight: wb.Weight, wanted: str) -> None:
    """A plain weight in its own type is what is stored, by every way of reading; what the model has
    a problem with is read by none."""
    if weight.name in {problem["tensor"] for problem in model.problems}:
        for job in (weight.tensor, weight.numpy, lambda: weighbridge.numpy.load_file(model)):
            with pytest.raises(wb.WeighbridgeError):
                job()
        COUNTED["with a problem"] += 1
        return
    tensor = weight.tensor()
    raw = bytearray(tensor.nbytes)
    weight.read(out=raw)
    assert sum_of(tensor) == sum_of(raw) == wanted, weight.name
    COUNTED["plain"] += 1
    if weight.dtype in SHARED:
        return
    if weight.dtype == "C32":
        with pytest.raises(wb.UsageError):
            weight.numpy()
        return
    array = weight.numpy()
    assert array.shape == weight.shape and array.flags.c_contiguous and array.flags.writeable
    out = np.empty_like(array)
    weight.read(out=out)
    loaded = weighbridge.numpy.load_file(model, names=[weight.name])
    assert list(loaded) == [weight.name]
    for found in (array, out, np.asarray(weight), np.array(weight), loaded[weight.name]):
        assert sum_of(bytes_of(found)) == wanted, weight.name
    COUNTED["arrays"] += 1


def test_mapped_views_are_the_same_bytes() -> None:
    seen = 0
    for sample in readable():
        sums = {name: one["sha256"] for name, one in listed(sample).items()}
        with wb.open(sample.path, mmap=True) as model:
            for name, weight in model.items():
                if weight.scheme != "plain" or name not in sums or weight.undecodable:
                    continue
                try:
                    view = weight.view()
                except wb.UsageError:
                    continue  # In the other byte order, or packed.
                except wb.WeighbridgeError:
                    assert {name, None} & {problem["tensor"] for problem in model.problems}
                    continue
                assert view.readonly and memoryview(view).readonly
                assert sum_of(view) == sums[name], name
                seen += 1
    assert seen > 500


def test_what_converting_refuses_is_not_loaded(tmp_path: Path) -> None:
    """One shard of a repository without its config, a file that runs programs, one cut short."""
    refused = 0
    for sample in samples():
        try:
            model = wb.open(sample.path)
        except wb.WeighbridgeError:
            continue
        with model:
            if not model.problems:
                continue
            try:
                wb.convert(model, tmp_path / "out.npz", dry_run=True, names="keep", dtype="f32")
            except wb.WeighbridgeError:
                refused += 1
                with pytest.raises(wb.WeighbridgeError):
                    weighbridge.numpy.load_file(model, dtype="f32")
    assert refused > 50


def test_a_damaged_weight_does_not_spoil_the_others() -> None:
    damaged = next(sample for sample in samples() if sample.path.name == "wrong_crc.pth")
    with wb.open(damaged.path) as model:
        before = model["fc.bias"].numpy()
        with pytest.raises(wb.MalformedError, match="CRC-32"):
            model["fc.weight"].numpy()
        assert np.array_equal(model["fc.bias"].numpy(), before)


def test_nothing_was_left_out(request: pytest.FixtureRequest) -> None:
    chosen = [item for item in request.session.items if item.name.startswith("test_sums[")]
    if len(chosen) < len(readable()):
        return  # Somebody asked for some of them.
    counted = sum(COUNTED[kind] for kind in ("stored", "refused", "not a weight"))
    assert counted == sum(len(listed(sample)) for sample in readable())
    # Two scales of NVFP4 belong to no weight; what is refused is dangerous, damaged or unknown.
    assert COUNTED["not a weight"] <= 2 and COUNTED["refused"] <= 71, COUNTED
    assert COUNTED["stored"] >= 1748 and COUNTED["plain"] >= 1234
    assert COUNTED["with a problem"] <= 8 and COUNTED["arrays"] >= 1229
