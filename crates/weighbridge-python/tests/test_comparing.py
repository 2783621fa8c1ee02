"""`verify` and `diff` say what the command says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import weighbridge as wb
from shared import FILES, TINY, weigh, without_measures


def test_verify_finds_a_flipped_bit(tmp_path: Path) -> None:
    output = tmp_path / "out.safetensors"
    wb.convert(TINY, output, dtype="f32")
    report = wb.verify(output, TINY, dtype="f32")
    done = weigh("verify", output, "--against", TINY, "--dtype", "f32", "--json")
    assert report["ok"] and without_measures(report) == without_measures(json.loads(done.stdout))
    data = bytearray(output.read_bytes())
    data[-5] ^= 1
    output.write_bytes(data)
    report = wb.verify(output, TINY, dtype="f32")
    done = weigh("verify", output, "--against", TINY, "--dtype", "f32", "--json")
    assert done.returncode == 1 and not report["ok"]
    assert without_measures(report) == without_measures(json.loads(done.stdout))
    assert len(report["mismatched"]) == 1


def test_verify_of_what_was_quantized(plain: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.gguf"
    wb.quantize(plain, output, "Q4_K_M", verify=True)
    assert wb.verify(output, plain, type="Q4_K_M")["ok"]
    assert not wb.verify(output, plain, type="Q4_0")["ok"]


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        ([], {}),
        (["--values", "all"], {"values": "all"}),
        (["--values", "none"], {"values": "none"}),
        (["--exact"], {"exact": True}),
        (["--include", "mlp", "--exclude", "up"], {"include": ["mlp"], "exclude": ["up"]}),
        (["--fail-over", "cosine<0.5"], {"fail_over": "cosine<0.5"}),
        (["--rename", "layers=layers"], {"rename": {"layers": "layers"}}),
        (["--reencode"], {"reencode": True}),
    ],
    ids=str,
)
def test_diff(flags: list[str], arguments: dict[str, Any]) -> None:
    sample = FILES / "names" / "qwen3-q8"
    one, other = sample / "hf", sample / "model.gguf"
    done = weigh("diff", one, other, "--json", *flags)
    assert done.returncode in (0, 1), done.stderr
    report = wb.diff(one, other, **arguments)
    assert without_measures(report) == without_measures(json.loads(done.stdout))
    assert report["ok"] is (done.returncode == 0)


def test_diff_with_a_map(tmp_path: Path) -> None:
    wb.convert(TINY, tmp_path / "out.safetensors", rename={"^model.norm": "other"})
    assert not wb.diff(TINY, tmp_path / "out.safetensors")["ok"]
    given = {"model.norm.weight": "other.weight"}
    report = wb.diff(TINY, tmp_path / "out.safetensors", map=given)
    assert report["only_a"] == report["only_b"] == []
