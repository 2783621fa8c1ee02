"""Arguments that make no sense: the message names them as the caller does, and nothing is left open."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weighbridge as wb
from shared import FILES, TINY

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"threads": "4"}, "threads"),
    ({"threads": 2.5}, "threads"),
    ({"threads": 1 << 80}, "threads"),
    ({"max_memory": 2.5}, "max_memory"),
    ({"max_shard_size": 2.5}, "max_shard_size"),
    ({"dtype": np.float32}, "dtype"),
    ({"force": "yes"}, "force"),
    ({"include": [3]}, "include"),
    ({"config": 3}, "config"),
    ({"cast": "mlp=f32"}, "cast"),
    ({"cast": [("mlp",)]}, "cast"),
    ({"rename": {"mlp": 3}}, "rename"),
    ({"metadata": {"some.key": None}}, "some.key"),
    ({"metadata": {"some.key": [1]}}, "some.key"),
    ({"metadata": {"some.key": ("u8", 300)}}, "some.key"),
    ({"metadata": {"some.key": ("i8", -129)}}, "some.key"),
    ({"metadata": {"some.key": ("u8", True)}}, "some.key"),
    ({"metadata": {"some.key": ("f32", "1")}}, "some.key"),
    ({"metadata": {"some.key": ("nothing", 1)}}, "some.key"),
    ({"metadata": {3: 3}}, "3"),
]


@pytest.mark.parametrize(("arguments", "named"), WRONG, ids=lambda one: str(one))
def test_a_verb_names_its_argument(arguments: dict[str, Any], named: str, tmp_path: Path) -> None:
    with pytest.raises((TypeError, wb.UsageError)) as raised:
        wb.convert(TINY, tmp_path / "out.gguf", **arguments)
    assert named in str(raised.value) and "Wishes" not in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    limits: Any = {"max_items": np.int64(10**6)}
    with wb.open(TINY, limits=limits) as model:
        values: dict[str, Any] = {"a": np.uint32(7), "b": ("u8", np.int64(3)), "c": np.bool_(True)}
        values |= {"d": np.float32(0.5), "e": ("f64", np.float32(0.25))}
        numbers: Any = {"threads": np.int64(1), "max_memory": np.int64(1 << 30)}
        wb.convert(model, tmp_path / "out.gguf", metadata=values, **numbers)
    with wb.open(tmp_path / "out.gguf") as made:
        assert [made.metadata[key] for key in "abcde"] == [7, 3, True, 0.5, 0.25]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"limits": {"max_items": -1}}, "max_items"),
        ({"limits": {"max_items": "x"}}, "max_items"),
        ({"limits": {"max_depth": 1 << 32}}, "max_depth"),
        ({"mmap": "no"}, "mmap"),
        ({"strict_pickle": 1}, "strict_pickle"),
        ({"root": 3}, "root"),
        ({"scheme": "gptq"}, "scheme"),
        ({"name": 3}, "name"),
    ],
    ids=lambda one: str(one),
)
def test_open_names_its_argument(arguments: dict[str, Any], named: str) -> None:
    with open(FILES / "safetensors" / "metadata.safetensors", "rb") as file:
        before = descriptors()
        for _ in range(3):
            with pytest.raises((TypeError, wb.UsageError), match=named):
                wb.open(file, **arguments)
        assert descriptors() == before, "a descriptor was left open"


def descriptors() -> int:
    """How many descriptors are open, where the system says so."""
    place = Path("/proc/self/fd")
    return len(list(place.iterdir())) if place.exists() else 0


def test_a_path_of_bytes_that_says_that_it_is_one(tmp_path: Path) -> None:
    class Place:
        def __fspath__(self) -> bytes:
            return os.fsencode(TINY)

    with wb.open(Place()) as model:  # type: ignore[arg-type]
        assert len(model) == 21


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text elsewhere")
def test_a_name_of_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = os.path.join(tmp_path, os.fsdecode(b"not\xfftext\n.safetensors"))
    with open(path, "wb") as file:
        file.write((FILES / "safetensors" / "metadata.safetensors").read_bytes())
    with wb.open(path) as model, open(path, "rb") as opened, wb.open(opened) as other:
        assert model.path == path
        assert model["embed.weight"].numpy().tobytes() == other["embed.weight"].numpy().tobytes()
    assert "\n" not in repr(model) and repr(model).isprintable()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are no files there")
def test_a_pipe() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"\x08")
    os.close(writing)
    with open(reading, "rb") as file, pytest.raises(wb.UsageError, match="pipe") as raised:
        wb.open(file)
    assert raised.value.hint is not None and "file.read()" in raised.value.hint


def test_names_that_no_file_can_hold(tiny: wb.Model) -> None:
    name = "half a letter \ud800"
    assert name not in tiny and tiny.get(name) is None
    with pytest.raises(wb.NoSuchTensorError):
        tiny[name]
    with pytest.raises(TypeError, match="looked up by name"):
        tiny[3]  # type: ignore[index]
