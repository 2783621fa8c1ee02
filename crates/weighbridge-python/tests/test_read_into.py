"""Reading into memory of the caller."""

from __future__ import annotations

import array
import ctypes
import mmap
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import weighbridge as wb
from shared import GPTQ, NORM, same_bits


def test_arrays_give_their_type(tiny: wb.Model) -> None:
    weight = tiny[GPTQ]
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
        out = np.full(weight.shape, 7, dtype)
        assert weight.read(out=out) is out
        assert same_bits(out, weight.numpy(dtype))
    rows = np.empty((3, weight.shape[1]), np.float32)
    assert weight.read(out=rows, rows=slice(4, 7)) is rows
    assert same_bits(rows, weight.numpy("f32")[4:7])
    assert same_bits(weight.read(rows=slice(-2, None), dtype="bf16"), weight.numpy("bf16")[-2:])


def test_any_writable_memory_will_do(tiny: wb.Model) -> None:
    weight = tiny[GPTQ]
    own, full = weight.numpy().tobytes(), weight.numpy("f32").tobytes()
    floats = array.array("f", bytes(len(full)))
    places: list[tuple[Any, bytes]] = [
        (bytearray(len(own)), own),
        (memoryview(bytearray(len(own))), own),
        (mmap.mmap(-1, len(own)), own),
        (floats, full),
        ((ctypes.c_ubyte * len(own))(), own),
        ((ctypes.c_float * weight.size)(), full),
        (memoryview(floats).cast("B").cast("f", list(weight.shape)), full),
    ]
    for out, wanted in places:
        assert weight.read(out=out) is out
        assert bytes(memoryview(out).cast("B")) == wanted, type(out)
    raw = bytearray(len(full))
    weight.read(out=raw, dtype="f32")
    assert raw == full
    part = memoryview(bytearray(len(own) + 20))[10:-10]
    weight.read(out=part)
    assert part == own


@pytest.mark.parametrize(
    "length", [0, 1, 16383, 16385, 32768], ids=lambda length: f"{length} bytes"
)
def test_the_wrong_size(tiny: wb.Model, length: int) -> None:
    out = bytearray(b"\x55" * length)
    with pytest.raises(wb.UsageError):
        tiny[GPTQ].read(out=out)
    assert out == b"\x55" * length, "something was written"


def test_the_wrong_shape_of_an_array(tiny: wb.Model) -> None:
    weight = tiny[GPTQ]
    with pytest.raises(wb.UsageError):
        weight.read(out=np.empty((3, 3), np.float32))
    with pytest.raises(wb.UsageError):
        weight.read(out=np.empty(weight.shape, np.float32), rows=slice(0, 3))
    # The same numbers in another form are memory like any other.
    flat = np.empty(weight.size, np.float32)
    weight.read(out=flat)
    assert same_bits(flat, weight.numpy("f32").reshape(-1))


def test_the_sides_of_an_array_are_those_of_the_weight(tiny: wb.Model) -> None:
    weight = tiny[GPTQ]
    turned = np.zeros(weight.shape[::-1], np.float32)
    for out in (turned, memoryview(turned), turned.reshape(4, -1)):
        with pytest.raises(wb.UsageError, match="shape"):
            weight.read(out=out)
    assert not turned.any()
    weight.read(out=turned.reshape(-1))
    assert turned.tobytes() == weight.numpy("f32").tobytes()


def test_no_memory_for_no_rows(tiny: wb.Model) -> None:
    empty = np.empty((0, 64), np.float32)
    for out in (empty, memoryview(empty), bytearray()):
        assert tiny[GPTQ].read(out=out, rows=slice(3, 3)) is out


def test_the_wrong_type(tiny: wb.Model) -> None:
    weight = tiny[GPTQ]
    with pytest.raises(wb.UsageError):
        weight.read(out=np.empty(weight.shape, np.float32), dtype="bf16")
    for dtype in (np.int32, np.float64, np.complex64, np.dtype("U1"), np.dtype(">f4")):
        with pytest.raises((wb.UsageError, wb.UnsupportedError)):
            weight.read(out=np.empty(weight.shape, dtype))
    with pytest.raises(wb.UsageError):
        weight.read(out=array.array("f", bytes(4 * weight.size)), dtype="f16")
    with pytest.raises(wb.UsageError):
        weight.numpy("nothing")


def test_memory_that_may_not_be_written(tiny: wb.Model) -> None:
    weight = tiny[NORM]
    own = weight.numpy()
    frozen = own.copy()
    frozen.flags.writeable = False
    for out in (frozen, bytes(own.nbytes), memoryview(bytes(own.nbytes))):
        with pytest.raises(wb.UsageError, match="read-only"):
            weight.read(out=out)


def test_memory_with_gaps(tiny: wb.Model) -> None:
    weight = tiny[GPTQ]
    double = np.zeros((128, 128), np.float32)
    fortran = np.zeros(weight.shape, np.float32, order="F")
    gaps = memoryview(bytearray(4 * weight.size))[::2]
    for out in (double[:, ::2], fortran, gaps):
        with pytest.raises(wb.UsageError, match="not C-contiguous"):
            weight.read(out=out)
    assert not double.any() and not fortran.any()


def test_what_is_no_memory(tiny: wb.Model) -> None:
    for out in (3, "text", [0.0] * 64, object()):
        with pytest.raises(TypeError):
            tiny[NORM].read(out=out)


def test_types_by_all_their_names(tiny: wb.Model) -> None:
    weight = tiny[GPTQ]
    for spelled in ("f32", "F32", "float32", np.float32, np.dtype("f4"), "<f4"):
        assert weight.numpy(spelled).dtype == np.float32, spelled
    for spelled in ("bf16", "BF16", "bfloat16", ml_dtypes.bfloat16, np.dtype("bfloat16")):
        assert weight.numpy(spelled).dtype == ml_dtypes.bfloat16, spelled
    # To numpy the number is one of bytes.
    assert weight.numpy("f4").dtype == np.float32
    assert weight.numpy("f2").dtype == np.float16
    assert weight.numpy("F4").dtype == ml_dtypes.float4_e2m1fn
    for spelled, meant in (("i8", "I64"), ("u8", "U64"), ("I8", "I8"), ("U8", "U8")):
        with pytest.raises(wb.UsageError, match=f"as {meant}"):
            weight.numpy(spelled)
    assert weight.numpy("auto").dtype == np.float16
    assert tiny[NORM].numpy("auto").dtype == tiny[NORM].numpy().dtype


def test_asarray(tiny: wb.Model) -> None:
    weight = tiny[GPTQ]
    assert np.asarray(weight).dtype == np.float16
    for dtype in (np.float32, np.float64, np.int8, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn):
        found = np.asarray(weight, dtype=dtype)
        assert found.dtype == dtype
    assert same_bits(np.asarray(weight, np.float64), weight.numpy().astype(np.float64))
    assert np.array(weight, copy=True).shape == weight.shape
    with pytest.raises(ValueError):
        weight.__array__(copy=False)
    assert float(np.abs(weight).max()) > 0
