"""What the tests share: where the samples are, a reader of safetensors that is not ours, and the
command in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

import weighbridge

ROOT = Path(__file__).resolve().parents[3]
FILES = ROOT / "tests" / "files"
#: A directory of shards with quantized and plain weights.
TINY = ROOT / "samples" / "tiny-llama-gptq"
#: One of its quantized weights, and a plain one.
GPTQ = "model.layers.0.mlp.up_proj.weight"
NORM = "model.norm.weight"
#: Files of a fixture that do not belong to the model.
BESIDE = {"expected.safetensors", "expected-f32.safetensors", "findings.json"}

TYPES: dict[str, Any] = {
    "BOOL": np.bool_,
    "U8": np.uint8,
    "I8": np.int8,
    "U16": np.uint16,
    "I16": np.int16,
    "U32": np.uint32,
    "I32": np.int32,
    "U64": np.uint64,
    "I64": np.int64,
    "F16": np.float16,
    "F32": np.float32,
    "F64": np.float64,
    "C64": np.complex64,
    "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
}


class Sample(NamedTuple):
    """A file or directory with what its canonical library reads in it."""

    path: Path
    expect: dict[str, Any]


def samples() -> list[Sample]:
    """Every sample that has an expectation."""
    found = []
    for document in sorted(FILES.rglob("*.expect.json")):
        path = Path(str(document).removesuffix(".expect.json"))
        if not path.exists():
            path = ROOT / "samples" / path.name
        assert path.exists(), document
        found.append(Sample(path, json.loads(document.read_text())))
    assert len(found) > 100, "the samples are missing"
    return found


def fixtures() -> list[Path]:
    """Every directory whose weights a canonical library has decoded."""
    found = sorted(path.parent for path in FILES.rglob("expected.safetensors"))
    assert len(found) > 50, "the fixtures are missing"
    return found


def short(path: Path) -> str:
    """A name for a test."""
    return path.relative_to(ROOT).as_posix().removeprefix("tests/files/")


def model_of(fixture: Path, place: Path) -> Path:
    """A copy of a fixture's model without the expectations."""
    place.mkdir(parents=True)
    for entry in fixture.iterdir():
        if entry.name not in BESIDE and entry.is_file():
            shutil.copy(entry, place / entry.name)
    return place


def plain_file(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file, read without the package that is tested."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    arrays = {}
    for name, about in header.items():
        low, high = about["data_offsets"]
        flat = np.frombuffer(data[start + low : start + high], TYPES[about["dtype"]])
        arrays[name] = flat.reshape(about["shape"])
    return arrays


def written_file(path: Path, tensors: Mapping[str, tuple[str, Sequence[int], bytes]]) -> Path:
    """A safetensors file, written without the package that is tested."""
    header: dict[str, Any] = {}
    data = b""
    for name, (dtype, shape, raw) in tensors.items():
        span = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": span}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def bits(array: np.ndarray) -> np.ndarray:
    """Numbers as bits, every NaN alike: which NaN a conversion gives is not specified."""
    array = np.ascontiguousarray(array)
    words = array.view(f"u{array.dtype.itemsize}").copy()
    if array.dtype.kind == "f" or array.dtype in (ml_dtypes.bfloat16,):
        words[np.isnan(array)] = np.iinfo(words.dtype).max
    return words


def same_bits(found: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether type, shape and every bit agree."""
    alike = found.dtype == wanted.dtype and found.shape == wanted.shape
    return alike and bool(np.array_equal(bits(found), bits(wanted)))


def environment(**more: str) -> dict[str, str]:
    """Variables with which another process finds the same package, wherever it is started."""
    package = str(Path(weighbridge.__file__).resolve().parents[1])
    known = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(known)} | more


def python(
    code: str, *args: object, cwd: Path | None = None, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Runs code in an interpreter of its own."""
    words = [sys.executable, "-c", code, *map(str, args)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=environment())
    assert not check or done.returncode == 0, done.stderr
    return done


def weigh(*args: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the command."""
    words = [sys.executable, "-m", "weighbridge", *map(str, args)]
    return subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=environment())


def lines(done: subprocess.CompletedProcess[str]) -> Iterator[dict[str, Any]]:
    """The reports that the command printed, one a line."""
    return map(json.loads, done.stdout.rstrip("\n").split("\n"))


def tree(place: Path) -> dict[str, bytes]:
    """All files below a directory, or the one file."""
    if place.is_file():
        return {"": place.read_bytes()}
    files = (path for path in sorted(place.rglob("*")) if path.is_file())
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in files}


#: What is measured differs from run to run.
MEASURED = {"seconds", "peak_memory"}


def without_measures(report: Any) -> Any:
    """A report without what differs between two runs of the same."""
    if isinstance(report, dict):
        return {k: without_measures(v) for k, v in report.items() if k not in MEASURED}
    return [without_measures(one) for one in report] if isinstance(report, list) else report
