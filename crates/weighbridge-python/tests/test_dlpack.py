"""DLPack: capsules in both forms, and numpy as the one who takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weighbridge as wb
from capsules import look
from shared import GPTQ, TYPES, written_file

CODES = {
    "BOOL": (6, 8),
    "U8": (1, 8),
    "I8": (0, 8),
    "U16": (1, 16),
    "I16": (0, 16),
    "U32": (1, 32),
    "I32": (0, 32),
    "U64": (1, 64),
    "I64": (0, 64),
    "F16": (2, 16),
    "F32": (2, 32),
    "F64": (2, 64),
    "C64": (5, 64),
    "BF16": (4, 16),
    "F8_E4M3": (10, 8),
    "F8_E5M2": (12, 8),
    "F8_E8M0": (14, 8),
}


@pytest.fixture
def types(tmp_path: Path) -> Path:
    """A file with a weight of every type."""
    assert set(CODES) == set(TYPES)
    tensors = {}
    for dtype, (_, width) in CODES.items():
        raw = bytes(24 * width // 8) if dtype == "BOOL" else bytes(range(1, 1 + 24 * width // 8))
        tensors[dtype] = (dtype, [2, 3, 4], raw)
    tensors["none"] = ("F32", [0, 3], b"")
    tensors["one"] = ("F32", [], b"\0\0\0\x40")
    return written_file(tmp_path / "types.safetensors", tensors)


@pytest.mark.parametrize("max_version", [None, (0, 8), (1, 0), (1, 2), (2, 0)])
def test_every_type_in_both_forms(types: Path, max_version: tuple[int, int] | None) -> None:
    with wb.open(types) as model:
        for name, weight in model.items():
            for exporter in (weight, weight.tensor()):
                seen = look(exporter.__dlpack__(max_version=max_version))
                is_new = max_version is not None and max_version[0] >= 1
                assert seen.name == ("dltensor_versioned" if is_new else "dltensor")
                assert seen.version is None or seen.version[0] == 1 and seen.version[1] <= 2
                assert seen.device == (1, 0) == exporter.__dlpack_device__()
                assert seen.shape == weight.shape and not seen.is_read_only
                assert seen.data == weight.stored_bytes()
                if name in CODES:
                    assert seen.dtype == (*CODES[name], 1), name
                    assert seen.strides == (12, 4, 1)
                    assert seen.address % 64 == 0, name


def test_no_argument_and_unknown_ones(tiny: wb.Model) -> None:
    tensor = tiny[GPTQ].tensor()
    assert look(tensor.__dlpack__()).name == "dltensor"
    assert look(tensor.__dlpack__(stream=None, max_version=(1, 0))).name == "dltensor_versioned"
    for wrong in ({"nothing": 1}, {"max_version": 3}, {"dl_device": "cpu"}):
        with pytest.raises(TypeError):
            tensor.__dlpack__(**wrong)  # type: ignore[arg-type]


def test_copies(tiny: wb.Model) -> None:
    tensor = tiny[GPTQ].tensor()
    own = look(tensor.__dlpack__(max_version=(1, 0)))
    assert not own.is_copied
    for copy, is_copied in ((None, False), (False, False), (True, True)):
        seen = look(tensor.__dlpack__(max_version=(1, 0), copy=copy))
        assert seen.is_copied is is_copied and (seen.address != own.address) is is_copied
        assert seen.data == own.data and not seen.is_read_only
    legacy = look(tensor.__dlpack__(copy=True))
    assert legacy.data == own.data and legacy.address != own.address
    # A weight has no memory that it could lend.
    with pytest.raises(BufferError):
        tiny[GPTQ].__dlpack__(copy=False)
    assert look(tiny[GPTQ].__dlpack__(copy=True)).data == own.data


def test_devices(tiny: wb.Model) -> None:
    for exporter in (tiny[GPTQ], tiny[GPTQ].tensor()):
        assert look(exporter.__dlpack__(dl_device=(1, 0))).device == (1, 0)
        for device in ((2, 0), (1, 1)):
            with pytest.raises(BufferError):
                exporter.__dlpack__(dl_device=device)


def test_what_is_lent_is_read_only(types: Path) -> None:
    with wb.open(types, mmap=True) as model:
        view = model["F32"].view()
        wanted = model["F32"].stored_bytes()
        assert view.readonly and bytes(view) == wanted
        new = look(view.__dlpack__(max_version=(1, 0)))
        assert new.is_read_only and not new.is_copied and new.data == wanted
        array = np.from_dlpack(view)
        assert not array.flags.writeable and array.tobytes() == wanted
        assert array.ctypes.data == new.address
        # The older form cannot say so, and gives a copy.
        old = look(view.__dlpack__())
        assert old.address != new.address and old.data == wanted
        with pytest.raises(BufferError):
            view.__dlpack__(copy=False)
        copied = look(view.__dlpack__(max_version=(1, 0), copy=True))
        assert copied.is_copied and not copied.is_read_only
    # Views outlive the model.
    assert array.tobytes() == wanted == bytes(view)
    with pytest.raises(TypeError):
        memoryview(view)[0] = 1


def test_views_of_bytes(types: Path) -> None:
    data = types.read_bytes()
    view = wb.open(data)["I64"].view()
    assert bytes(view) in data and view.readonly
    del data
    assert np.from_dlpack(view).shape == (2, 3, 4)
    for source in (types, bytearray(types.read_bytes())):
        with pytest.raises(wb.UsageError, match="cannot be viewed in place"):
            wb.open(source)["I64"].view()


@pytest.mark.parametrize("name", [name for name in CODES if np.dtype(TYPES[name]).kind in "biufc"])
def test_numpy_takes_them(types: Path, name: str) -> None:
    with wb.open(types) as model:
        if np.dtype(TYPES[name]).isbuiltin != 1:
            with pytest.raises((RuntimeError, BufferError)):
                np.from_dlpack(model[name])
            return
        for exporter in (model[name], model[name].tensor()):
            array = np.from_dlpack(exporter)
            assert array.dtype == TYPES[name] and array.shape == (2, 3, 4)
            assert array.tobytes() == model[name].stored_bytes()


def test_numpy_shares_the_memory(tiny: wb.Model) -> None:
    tensor = tiny[GPTQ].tensor("f32")
    array = np.from_dlpack(tensor)
    array[0, 0] = 42
    assert np.frombuffer(tensor, np.float32)[0] == 42 and array.flags.writeable
    address = array.ctypes.data
    del tensor
    assert array[0, 0] == 42 and array.ctypes.data == address


def test_a_capsule_is_taken_once(tiny: wb.Model) -> None:
    capsule = tiny[GPTQ].tensor().__dlpack__()

    class Giver:
        def __dlpack__(self, **_: Any) -> object:
            return capsule

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    array = np.from_dlpack(Giver())
    assert array.shape == tiny[GPTQ].shape
    with pytest.raises(Exception):  # noqa: B017 - whichever numpy raises
        np.from_dlpack(Giver())
    del capsule
    assert array.tobytes() == tiny[GPTQ].numpy().tobytes()


def test_tensors_as_memory(tiny: wb.Model) -> None:
    tensor = tiny[GPTQ].tensor("bf16", rows=slice(2, 4))
    assert (tensor.shape, tensor.dtype, tensor.nbytes) == ((2, 64), "BF16", 256)
    view = memoryview(tensor)
    assert (view.nbytes, view.format, view.readonly) == (256, "B", False)
    assert bytes(view) == tiny[GPTQ].numpy("bf16")[2:4].tobytes()
