"""File objects that refer back to what reads them are collected."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import weighbridge as wb
from slow import SlowFile, many_weights


class File(SlowFile):
    model: wb.Model
    weights: list[wb.Weight]


def test_a_file_that_refers_to_its_model(tmp_path: Path) -> None:
    data = many_weights(tmp_path / "many.safetensors", 4).read_bytes()
    file = File(data)
    file.model = wb.open(file)
    gone = weakref.ref(file)
    del file
    gc.collect()
    assert gone() is None


def test_a_file_that_refers_to_weights(tmp_path: Path) -> None:
    data = many_weights(tmp_path / "many.safetensors", 4).read_bytes()
    file = File(data)
    file.weights = list(wb.open(file).values())
    gone = weakref.ref(file)
    del file
    gc.collect()
    assert gone() is None


def test_what_is_in_use_is_kept(tmp_path: Path) -> None:
    data = many_weights(tmp_path / "many.safetensors", 4).read_bytes()
    file = File(data)
    file.model = wb.open(file)
    weight = file.model["w001"]
    gone = weakref.ref(file)
    del file
    for _ in range(3):
        gc.collect()
    assert gone() is not None
    assert len(weight.numpy()) == 64
    del weight
    gc.collect()
    assert gone() is None
