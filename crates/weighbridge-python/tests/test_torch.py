"""Tensors of torch, where it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import weighbridge as wb
import weighbridge.torch
from shared import FILES, GPTQ, NORM, TINY, written_file

torch: Any = pytest.importorskip("torch")


def raw(tensor: Any) -> bytes:
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).tolist())


def test_state_dict(tiny: wb.Model) -> None:
    for source in (TINY, tiny):
        found = weighbridge.torch.state_dict(source)
        assert list(found) == list(tiny)
        for name, tensor in found.items():
            assert tuple(tensor.shape) == tiny[name].shape
            assert raw(tensor) == bytes(tiny[name].tensor()), name
    found = weighbridge.torch.state_dict(TINY, dtype="bf16", names=[GPTQ, NORM])
    assert set(found) == {GPTQ, NORM}
    assert all(tensor.dtype == torch.bfloat16 for tensor in found.values())
    assert raw(found[GPTQ]) == bytes(tiny[GPTQ].tensor("bf16"))
    loaded = weighbridge.torch.load_file(TINY, dtype=torch.float32)
    assert raw(loaded[GPTQ]) == bytes(tiny[GPTQ].tensor("f32"))
    assert tiny[GPTQ].numpy(torch.float16).dtype == "float16"


def test_methods(tiny: wb.Model) -> None:
    found = tiny.state_dict(dtype="bf16", names=[GPTQ])
    assert list(found) == [GPTQ] and found[GPTQ].dtype == torch.bfloat16
    assert list(tiny.state_dict()) == list(tiny)
    weight = tiny[GPTQ]
    assert raw(weight.torch()) == bytes(weight.tensor())
    rows = weight.torch(torch.float32, rows=slice(2, 5))
    assert raw(rows) == bytes(weight.tensor("f32", rows=slice(2, 5)))
    assert weight.torch(device="cpu").device.type == "cpu"


def test_every_type() -> None:
    path = FILES / "safetensors" / "dtypes.safetensors"
    with wb.open(path) as model:
        names = [name for name, weight in model.items() if weight.dtype != "F4"]
        found = weighbridge.torch.state_dict(model, names=names)
        for name in names:
            assert raw(found[name]) == model[name].stored_bytes(), name


def test_a_module_takes_them() -> None:
    class Norm(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.empty(64))

    module = Norm()
    found = weighbridge.torch.state_dict(TINY, names=[NORM], dtype="f32")
    module.load_state_dict({"weight": found[NORM]}, assign=True)
    assert module.weight.data_ptr() == found[NORM].data_ptr()
    found[NORM][0] = 5
    assert float(module.weight.detach()[0]) == 5


def test_empty_and_single(tmp_path: Path) -> None:
    path = written_file(
        tmp_path / "odd.safetensors", {"one": ("F32", [], b"\0\0\0\x40"), "none": ("F16", [0, 3], b"")}
    )
    found = weighbridge.torch.state_dict(path)
    assert float(found["one"]) == 2.0 and tuple(found["none"].shape) == (0, 3)


def test_whatever_device_new_tensors_are_on(tiny: wb.Model) -> None:
    with torch.device("meta"):
        found = weighbridge.torch.state_dict(TINY, names=[NORM])[NORM]
        with wb.safe_open(TINY, framework="pt") as file:
            rows = file.get_slice(GPTQ)[2:5]
    assert found.device.type == rows.device.type == "cpu"
    assert raw(found) == bytes(tiny[NORM].tensor())
    assert raw(rows) == bytes(tiny[GPTQ].tensor(rows=slice(2, 5)))


def test_tensors_without_memory() -> None:
    fake = pytest.importorskip("torch._subclasses.fake_tensor")
    with fake.FakeTensorMode(), pytest.raises(wb.UsageError, match="without memory"):
        weighbridge.torch.state_dict(TINY)


def test_safe_open(tiny: wb.Model) -> None:
    with wb.safe_open(TINY, framework="pt") as file:
        assert raw(file.get_tensor(GPTQ)) == bytes(tiny[GPTQ].tensor())
        assert raw(file.get_slice(GPTQ)[2:5]) == bytes(tiny[GPTQ].tensor(rows=slice(2, 5)))
        assert raw(file.get_slice(GPTQ)[7]) == bytes(tiny[GPTQ].tensor(rows=slice(7, 8)))
        assert set(file.get_tensors()) == set(tiny)


def test_against_safetensors() -> None:
    theirs = pytest.importorskip("safetensors.torch")
    path = FILES / "gptq" / "bits2" / "expected.safetensors"
    wanted = theirs.load_file(path)
    found = weighbridge.torch.load_file(path)
    assert set(found) == set(wanted)
    assert all(raw(found[name]) == raw(wanted[name]) for name in wanted)
    assert all(found[name].dtype == wanted[name].dtype for name in wanted)
