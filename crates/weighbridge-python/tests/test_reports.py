"""The reports are what their types say, and the types are what the schemas say."""

from __future__ import annotations

import subprocess
import sys
import types
import typing
from pathlib import Path
from typing import Any

import weighbridge as wb
from shared import FILES, ROOT, TINY, samples
from weighbridge import _reports

TOOL = ROOT / "crates" / "weighbridge-python" / "tools" / "reports_from_schema.py"


def test_the_types_are_those_of_the_schemas() -> None:
    done = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def check(value: Any, wanted: Any, where: str) -> None:
    """A value has the type, with every key that it needs and none that it does not know."""
    origin = typing.get_origin(wanted)
    if wanted is Any:
        return
    if origin in (typing.Required, typing.NotRequired):
        check(value, typing.get_args(wanted)[0], where)
    elif origin in (typing.Union, types.UnionType):
        failures = []
        for one in typing.get_args(wanted):
            try:
                return check(value, one, where)
            except AssertionError as failure:
                failures.append(str(failure))
        raise AssertionError(f"{where}: {failures}")
    elif typing.is_typeddict(wanted):
        assert isinstance(value, dict), where
        hints = typing.get_type_hints(wanted, vars(_reports), include_extras=True)
        assert not set(value) - set(hints), f"{where}: {set(value) - set(hints)} is not in its type"
        needed = {key for key, one in hints.items() if typing.get_origin(one) is not typing.NotRequired}
        missing = needed - set(value)
        assert not missing, f"{where}: {missing} is missing"
        for key, one in value.items():
            check(one, hints[key], f"{where}.{key}")
    elif origin is list:
        assert isinstance(value, list), where
        for at, one in enumerate(value):
            check(one, typing.get_args(wanted)[0], f"{where}[{at}]")
    elif origin is dict:
        assert isinstance(value, dict), where
        for key, one in value.items():
            check(one, typing.get_args(wanted)[1], f"{where}.{key}")
    elif origin is typing.Literal:
        assert value in typing.get_args(wanted), f"{where}: {value!r}"
    elif wanted is float:
        assert isinstance(value, (int, float)) and not isinstance(value, bool), where
    elif wanted is None or wanted is type(None):
        assert value is None, where
    else:
        assert type(value) is wanted, f"{where}: {value!r} is no {wanted}"


def test_inspect_of_every_sample() -> None:
    seen = 0
    for sample in samples():
        if sample.expect.get("refused_file"):
            continue
        report = wb.inspect(sample.path, tensors=True, full_metadata=True)
        check(report, _reports.InspectReport, sample.path.name)
        check(wb.inspect(sample.path), _reports.InspectReport, sample.path.name)
        seen += 1
    assert seen > 300


def test_what_is_written(plain: Path, tmp_path: Path) -> None:
    reports: list[Any] = [
        wb.convert(TINY, tmp_path / "a.gguf", verify=True),
        wb.convert(TINY, tmp_path / "b.gguf", dry_run=True),
        wb.convert(TINY, tmp_path / "c", max_shard_size="50KB", include=["mlp"]),
        wb.convert(FILES / "pth" / "numpy.pth", tmp_path / "d.npz", skip_unreadable=True),
        wb.dequantize(TINY, tmp_path / "plain", verify=True),
        wb.quantize(plain, tmp_path / "e.gguf", "Q4_K_M", verify=True),
        wb.quantize(plain, tmp_path / "f.gguf", target_bpw=6.0),
    ]
    for number, report in enumerate(reports):
        check(report, _reports.ConvertReport, f"convert {number}")
    verified = wb.verify(tmp_path / "plain", TINY)
    check(verified, _reports.VerifyReport, "verify")
    check(wb.verify(tmp_path / "a.gguf", TINY), _reports.VerifyReport, "verify")
    check(wb.verify(tmp_path / "e.gguf", plain, type="Q8_0"), _reports.VerifyReport, "verify")


def test_comparisons() -> None:
    for folder in sorted((FILES / "names").iterdir()):
        if (folder / "hf").is_dir() and (folder / "model.gguf").exists():
            report = wb.diff(folder / "hf", folder / "model.gguf", values="all")
            check(dict(report), _reports.DiffReport, folder.name)
    original = FILES / "verdict" / "original.safetensors"
    check(dict(wb.diff(original, TINY)), _reports.DiffReport, "others")
    check(dict(wb.diff(TINY, TINY, exact=True)), _reports.DiffReport, "exact")


def test_the_names_that_are_offered() -> None:
    for name in ("ConvertReport", "DiffReport", "InspectReport", "VerifyReport"):
        assert getattr(wb, name) is getattr(_reports, name)
