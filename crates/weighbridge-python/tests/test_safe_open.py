"""`safe_open` against the one of safetensors, and what it does beyond that."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import ml_dtypes  # noqa: F401 - safetensors knows bfloat16 once this is there
import numpy as np
import pytest

import weighbridge as wb
from shared import FILES, GPTQ, NORM, TINY, plain_file, same_bits, short, written_file

#: What safetensors cannot give as arrays of numpy.
UNKNOWN = {"F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F4", "C64"}


def readable() -> list[Path]:
    """Files of plain weights."""
    found = [
        *FILES.rglob("expected.safetensors"),
        *FILES.glob("safetensors/*.safetensors"),
        *FILES.glob("verdict/*.safetensors"),
    ]
    assert len(found) > 90
    return sorted(found)


@pytest.mark.parametrize("path", readable(), ids=short)
def test_against_safetensors(path: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    try:
        theirs = safetensors.safe_open(path, framework="np")
    except Exception as error:
        assert "SafetensorError" in type(error).__name__
        return
    with theirs, wb.safe_open(path, framework="np") as ours:
        assert ours.keys() == sorted(theirs.keys())
        # Those without bytes lie nowhere.
        filled = {name for name in theirs.keys() if 0 not in theirs.get_slice(name).get_shape()}
        orders = [[name for name in file.offset_keys() if name in filled] for file in (ours, theirs)]
        assert orders[0] == orders[1] and set(ours.offset_keys()) == set(theirs.keys())
        assert ours.metadata() == (theirs.metadata() or None)
        for name in theirs.keys():
            wanted = theirs.get_slice(name)
            found = ours.get_slice(name)
            assert found.get_shape() == wanted.get_shape(), name
            assert found.get_dtype() == wanted.get_dtype(), name
            if wanted.get_dtype() in UNKNOWN or wanted.get_dtype().startswith("F6"):
                continue
            whole = theirs.get_tensor(name)
            assert same_bits(ours.get_tensor(name), whole), name
            if whole.ndim and len(whole):
                for key in (slice(None), slice(0, 1), slice(1, 3), (slice(0, 2), ...)):
                    assert same_bits(found[key], whole[key]), (name, key)


def test_all_at_once() -> None:
    safetensors = pytest.importorskip("safetensors")
    path = FILES / "gptq" / "bits2" / "expected.safetensors"
    with safetensors.safe_open(path, framework="np") as theirs:
        wanted = theirs.get_tensors() if hasattr(theirs, "get_tensors") else plain_file(path)
    with wb.safe_open(path, framework="numpy", backend="mmap") as ours:
        found = ours.get_tensors()
    assert set(found) == set(wanted)
    assert all(same_bits(found[name], np.asarray(wanted[name])) for name in wanted)


def test_directories_and_quantized_weights(tiny: wb.Model) -> None:
    with wb.safe_open(TINY, "np") as file:
        assert file.keys() == sorted(tiny) and set(file.offset_keys()) == set(tiny)
        assert same_bits(file.get_tensor(GPTQ), tiny[GPTQ].numpy())
        piece = file.get_slice(GPTQ)
        assert (piece.get_shape(), piece.get_dtype()) == ([128, 64], "F16")
        whole = tiny[GPTQ].numpy()
        keys: list[Any] = [
            slice(2, 5),
            slice(None, None, 2),
            slice(-3, None),
            3,
            -1,
            (slice(2, 5), 3),
            (4, slice(1, 2)),
            ...,
            (..., 0),
            [0, 2],
            np.arange(128) % 2 == 0,
            True,
        ]
        for key in keys:
            assert same_bits(np.asarray(piece[key]), np.asarray(whole[key])), key
        with pytest.raises(IndexError):
            piece[128]
        assert {name: array.shape for name, array in file.get_tensors().items()} == {
            name: weight.shape for name, weight in tiny.items()
        }
    with pytest.raises(wb.UsageError, match="closed"):
        file.get_tensor(GPTQ)


def test_types(tiny: wb.Model) -> None:
    with wb.safe_open(TINY, framework="np", dtype="f32") as file:
        assert same_bits(file.get_tensor(GPTQ), tiny[GPTQ].numpy("f32"))
        assert same_bits(file.get_slice(GPTQ)[:2], tiny[GPTQ].numpy("f32")[:2])
        assert file.get_tensors()[NORM].dtype == np.float32


def test_only_floating_point_numbers_change_their_type(tmp_path: Path) -> None:
    path = written_file(
        tmp_path / "both.safetensors",
        {"ids": ("I64", [2], np.array([2**40 + 1, 3]).tobytes()), "x": ("F16", [2], bytes(4))},
    )
    frames: list[Literal["np", "jax"]] = ["np", "jax"]
    for frame in frames:
        with wb.safe_open(path, framework=frame, dtype="bf16") as file:
            assert file.get_slice("ids").get_dtype() == "I64"
            assert file.get_slice("x").get_dtype() == "BF16"
            assert str(file.get_slice("x")[:1].dtype) == "bfloat16"
            if frame == "np":
                assert file.get_tensor("ids").tolist() == [2**40 + 1, 3]
                assert file.get_slice("ids")[1:].tolist() == [3]
                assert file.get_tensors()["ids"].tolist() == [2**40 + 1, 3]


def test_metadata_is_text() -> None:
    with wb.safe_open(FILES / "gguf" / "key-values.gguf", "np") as file:
        found = file.metadata()
        assert found and all(isinstance(value, str) for value in found.values())
    with wb.safe_open(TINY, framework="np") as file:
        assert file.metadata() == {"format": "pt"} or file.metadata() is None


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(wb.UsageError):
        wb.safe_open(TINY, framework="nothing")  # type: ignore[arg-type]
    with pytest.raises(wb.UsageError):
        wb.safe_open(TINY, framework="np", device="cuda:0")
    with pytest.raises(wb.UsageError, match="backend"):
        wb.safe_open(TINY, framework="np", backend="read")  # type: ignore[arg-type]
    with pytest.raises(wb.UsageError, match="nothing"):
        wb.safe_open(TINY, framework="np", dtype="nothing")
    with pytest.raises(FileNotFoundError):
        wb.safe_open(tmp_path / "missing.safetensors", framework="np")
    with wb.safe_open(TINY, framework="np") as file:
        with pytest.raises(KeyError):
            file.get_tensor("nothing")
        with pytest.raises(KeyError):
            file.get_slice("nothing")
