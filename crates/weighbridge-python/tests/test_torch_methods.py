"""`Model.state_dict` and `Weight.torch`, with a stand-in where torch is not installed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import weighbridge as wb
from shared import GPTQ, NORM


class StandIn:
    """What the package needs of a tensor."""

    def __init__(self, array: np.ndarray, device: str = "cpu") -> None:
        self.array, self.device = array, device

    def numel(self) -> int:
        return self.array.size

    def element_size(self) -> int:
        return self.array.itemsize

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def to(self, device: str) -> StandIn:
        return StandIn(self.array, device)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = type(sys)("torch")
    module.Tensor = StandIn
    module.float32, module.float16 = np.float32, np.float16
    module.empty = lambda shape, dtype, device: StandIn(np.empty(shape, dtype), device)
    monkeypatch.setitem(sys.modules, "torch", module)


def test_one_weight(tiny: wb.Model, stand_in: None) -> None:
    weight = tiny[GPTQ]
    assert np.array_equal(weight.torch().array, weight.numpy())
    rows = weight.torch("f32", rows=slice(2, 5))
    assert np.array_equal(rows.array, weight.numpy("f32")[2:5])
    assert weight.torch(device="cuda").device == "cuda"


def test_all_weights(tiny: wb.Model, stand_in: None) -> None:
    found = tiny.state_dict(dtype="f32")
    assert list(found) == list(tiny)
    assert np.array_equal(found[NORM].array, tiny[NORM].numpy("f32"))
    seen: list[tuple[int, int]] = []
    some = tiny.state_dict(
        names=[GPTQ], device="cuda", progress=lambda done, total: seen.append((done, total))
    )
    assert list(some) == [GPTQ] and some[GPTQ].device == "cuda" and seen
    with pytest.raises(wb.NoSuchTensorError):
        tiny.state_dict(names=["nothing"])
