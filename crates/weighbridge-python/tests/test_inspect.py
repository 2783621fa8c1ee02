"""What is said of a model is what the command says of it, however the model is given."""

from __future__ import annotations

import io
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import weighbridge as wb
from shared import FILES, ROOT, TINY, Sample, lines, samples, short, weigh

CLASSES = {
    "malformed": wb.MalformedError,
    "unsupported": wb.UnsupportedError,
    "limit": wb.LimitError,
    "usage": wb.UsageError,
    "io": OSError,
}


def everything() -> list[Path]:
    """Every file and every directory there is, models or not."""
    places = (FILES, ROOT / "samples", ROOT / "tests" / "bad")
    return sorted(path for place in places for path in place.rglob("*"))


def said(error: Exception) -> dict[str, Any]:
    """An exception as the command writes it."""
    assert isinstance(error, wb.WeighbridgeError), repr(error)
    return {
        "kind": error.kind,
        "message": error.reason,
        "file": error.path,
        "tensor": error.tensor,
        "offset": error.offset,
        "hint": error.hint,
    }


def test_every_path_gives_what_the_command_prints() -> None:
    paths = everything()
    reports = lines(weigh("inspect", "--json-lines", "--tensors", *paths))
    seen: Counter[str] = Counter()
    for path in paths:
        try:
            models = wb.open_all(path)
        except Exception as error:
            report = next(reports)
            assert report["path"] == str(path)
            assert isinstance(error, CLASSES[report["error"]["kind"]]), path
            assert said(error) == report["error"], path
            with pytest.raises((wb.WeighbridgeError, OSError)):
                wb.inspect(path)
            seen[type(error).__name__] += 1
            continue
        for model in models:
            assert model.report(tensors=True) == next(reports), path
            model.close()
        seen["models"] += len(models)
        if len(models) == 1:
            report = wb.inspect(path, tensors=True)
            assert report == wb.inspect(str(path), tensors=True)
            with wb.open(path, mmap=True) as mapped:
                assert mapped.report(tensors=True) == report
    assert next(reports, None) is None
    assert seen["models"] > 1200 and seen["UnsupportedError"] > 500, seen
    assert seen["MalformedError"] > 20 and seen["UsageError"] > 20, seen


def test_every_sample_is_opened_or_refused_as_expected() -> None:
    refused = [sample for sample in samples() if sample.expect.get("refused_file")]
    assert refused
    for sample in samples():
        reason = sample.expect.get("refused_file")
        if reason is None:
            with wb.open(sample.path) as model:
                assert model.format == sample.expect["format"], sample.path
            continue
        with pytest.raises(wb.WeighbridgeError, match=reason):
            wb.open(sample.path)


def without_path(report: Any) -> Any:
    """A report without what is said about where the model lies."""
    report = json.loads(json.dumps(report))
    report.pop("path")
    for file in report["files"]:
        file.pop("path")
    for one in [*report["problems"], *report.get("tensors", [])]:
        one.pop("file", None)
        for part in one.get("parts", []):
            part.pop("file", None)
    return report


def single_files() -> list[Sample]:
    found = [
        sample
        for sample in samples()
        if sample.path.is_file() and not sample.expect.get("refused_file")
    ]
    assert len(found) > 150
    return found


@pytest.mark.parametrize("sample", single_files(), ids=lambda sample: short(sample.path))
def test_bytes_and_file_objects_give_the_same(sample: Sample, tmp_path: Path) -> None:
    # Alone and without a shard's number: bytes have nothing beside them.
    path = Path(shutil.copy(sample.path, tmp_path / f"alone{sample.path.suffix}"))
    wanted = wb.inspect(path, tensors=True)
    assert len(wanted["files"]) == 1
    data, name = path.read_bytes(), str(path)
    gapped = memoryview(b"".join(bytes((byte, 0)) for byte in data))[::2]
    with pytest.raises(wb.UsageError):
        wb.open(gapped)
    with path.open("rb") as file, path.open("rb", buffering=0) as raw:
        file.seek(min(3, len(data)))
        for source in (data, bytearray(data), memoryview(data), io.BytesIO(data), file, raw):
            with wb.open(source, name=name) as model:
                assert without_path(model.report(tensors=True)) == without_path(wanted)
        assert file.tell() == min(3, len(data)), "the caller's place in the file was moved"


def test_names_stand_in_for_paths() -> None:
    data = (FILES / "gguf" / "bf16.gguf").read_bytes()
    assert wb.open(data).path == "bytes"
    assert wb.open(data, name="mine").path == "mine"
    assert wb.open(io.BytesIO(data)).path == "file object"
    with (FILES / "gguf" / "bf16.gguf").open("rb") as file:
        assert wb.open(file).path == file.name


def test_choices_of_the_report() -> None:
    report = wb.inspect(TINY, tensors=True, include=["mlp"], exclude=["up_proj"])
    names = [one["name"] for one in report["tensors"]]
    assert names and all("mlp" in name and "up_proj" not in name for name in names)
    assert wb.inspect(TINY, include="mlp") == wb.inspect(TINY, include=["mlp"]) != wb.inspect(TINY)
    assert "tensors" not in wb.inspect(TINY)
    vocabulary = FILES / "gguf" / "vocabulary.gguf"
    full = wb.inspect(vocabulary, full_metadata=True)["metadata"]
    done = weigh("inspect", "--json", "--full-metadata", vocabulary)
    assert json.loads(done.stdout)["metadata"] == full != wb.inspect(vocabulary)["metadata"]


def test_a_model_is_a_mapping(tiny: wb.Model) -> None:
    assert len(tiny) == len(list(tiny)) == 21
    assert [weight.name for weight in tiny.values()] == list(tiny)
    assert "model.norm.weight" in tiny and "nothing" not in tiny and 3 not in tiny
    assert tiny.get("nothing") is None
    assert tiny != wb.open(TINY) and tiny == tiny and len({tiny, tiny}) == 1
    assert tiny.format == "safetensors" and tiny.problems == []
    weight = tiny["model.layers.0.mlp.up_proj.weight"]
    assert (weight.shape, weight.ndim, weight.size) == ((128, 64), 2, 128 * 64)
    assert (weight.dtype, weight.scheme, weight.variant) == ("F16", "gptq", "4bit-g32")
    assert weight.nbytes == sum(part.nbytes for part in weight.parts)
    for part in weight.parts:
        assert part.offset is not None
        with open(part.file, "rb") as file:
            file.seek(part.offset)
            stored = file.read(part.nbytes)
        assert stored == weight.stored_bytes(part.name) == weight.stored_bytes(part.role)
    with pytest.raises(wb.UsageError):
        weight.stored_bytes("nothing")
    with pytest.raises(wb.UsageError):
        weight.stored_bytes(99)


def test_metadata_is_what_the_report_has() -> None:
    for sample in samples():
        if sample.expect["format"] != "gguf":
            continue
        with wb.open(sample.path) as model:
            report = model.report(full_metadata=True)
            assert list(model.metadata) == list(report["metadata"]), sample.path
            for key, value in model.metadata.items():
                shown = report["metadata"][key]
                if isinstance(value, (str, bool, int)) or value == []:
                    assert value == shown, key


def test_closing(tiny: wb.Model) -> None:
    weight = tiny["model.norm.weight"]
    array = weight.numpy()
    tiny.close()
    tiny.close()
    assert tiny.closed and weight.shape == (64,) and array.shape == (64,)
    assert "closed" in repr(tiny)
    for job in (weight.numpy, tiny.report, lambda: tiny["model.norm.weight"]):
        with pytest.raises(wb.UsageError, match="closed"):
            job()
