"""`stats`, `hash` and `show`: their reports are those of the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weighbridge as wb
from shared import FILES, GPTQ, NORM, TINY, weigh, written_file
from test_reports import check
from weighbridge import _reports


def of_command(*arguments: str | Path) -> Any:
    done = weigh(*arguments, "--json")
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_stats_are_those_of_the_command() -> None:
    report = wb.stats(TINY)
    check(report, _reports.StatsReport, "stats")
    assert report == of_command("stats", TINY)
    assert (report["weights"], report["nan"], report["infinite"]) == (21, 0, 0)
    some = wb.stats(TINY, include="mlp", exclude=["up_proj"], threads=1, max_memory="64MB")
    assert some["tensors"] and all("mlp" in one["name"] for one in some["tensors"])


def test_stats_find_what_is_wrong(tmp_path: Path) -> None:
    numbers = np.array([[1, np.nan], [np.inf, 0]], np.float32)
    path = written_file(tmp_path / "odd.safetensors", {"w": ("F32", [2, 2], numbers.tobytes())})
    report = wb.stats(path)
    assert (report["nan"], report["infinite"], report["odd"]) == (1, 1, 1)
    assert [one["kind"] for one in report["tensors"][0]["findings"]][:2] == ["nan", "infinite"]


def test_hashes_are_those_of_the_command(tmp_path: Path) -> None:
    for keywords, flags in (({}, ()), ({"values": True}, ("--values",))):
        report = wb.hash(TINY, tensors=True, **keywords)
        check(report, _reports.HashReport, "hash")
        assert report == of_command("hash", TINY, "--tensors", *flags)
    assert "tensors" not in wb.hash(TINY)
    moved = tmp_path / "moved.safetensors"
    wb.convert(TINY, moved, dtype="f32")
    assert wb.hash(moved, values=True)["hash"] == wb.hash(TINY, values=True)["hash"]
    assert wb.hash(moved)["hash"] != wb.hash(TINY)["hash"]


def test_unreadable_weights() -> None:
    path = FILES / "pth" / "numpy.pth"
    for verb in (wb.stats, wb.hash):
        report: Any = verb(path, skip_unreadable=True)
        assert "skipped" in report


def test_shown_values_are_those_of_the_command(tiny: wb.Model) -> None:
    for keywords, flags in (
        ({"rows": slice(2, 4), "cols": "-3:"}, ("--rows", "2:4", "--cols", "-3:")),
        ({"rows": slice(-2, None), "dtype": "f32"}, ("--rows", "-2:", "--dtype", "f32")),
        ({"stats": True}, ("--stats",)),
    ):
        options: Any = keywords
        report = wb.show(TINY, GPTQ, **options)
        check(report, _reports.ShowReport, "show")
        assert report == of_command("show", TINY, GPTQ, *flags)
    report = wb.show(tiny, GPTQ, rows=slice(0, 2), dtype="f32")
    assert np.array_equal(np.array(report["values"], np.float32), tiny[GPTQ].numpy("f32")[:2])
    assert wb.show(tiny, "norm.weight", rows=":3")["name"] == NORM


def test_names_and_slices_that_are_wrong(tiny: wb.Model) -> None:
    with pytest.raises(wb.NoSuchTensorError) as raised:
        wb.show(tiny, "model.norm.weigth")
    assert raised.value.hint == "did you mean model.norm.weight?"
    with pytest.raises(wb.NoSuchTensorError, match="proj.weight"):
        wb.show(tiny, "proj.weight")
    for wrong, exception in (
        ({"rows": "4"}, wb.UsageError),
        ({"cols": slice(0, 9, 2)}, wb.UsageError),
        ({"rows": 4}, TypeError),
        ({"dtype": "i8"}, wb.UsageError),
    ):
        options: Any = wrong
        with pytest.raises(exception):
            wb.show(tiny, GPTQ, **options)
    with pytest.raises(TypeError):
        wb.show(tiny, 3)  # type: ignore[arg-type]


def test_reports_with_their_names() -> None:
    for name in ("HashReport", "ShowReport", "StatsReport"):
        assert getattr(wb, name) is getattr(_reports, name)
