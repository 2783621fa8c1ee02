"""Exceptions: their classes, what they carry, and that those of the caller arrive as they were."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

import weighbridge as wb
from shared import FILES, GPTQ, ROOT, TINY, python

GGUF = FILES / "gguf" / "bf16.gguf"


def test_what_each_class_is() -> None:
    bases: dict[type[wb.WeighbridgeError], type[Exception]] = {
        wb.MalformedError: ValueError,
        wb.UnsupportedError: NotImplementedError,
        wb.LimitError: ValueError,
        wb.UsageError: ValueError,
        wb.NoSuchTensorError: KeyError,
        wb.VerificationError: Exception,
    }
    for kind, base in bases.items():
        assert issubclass(kind, wb.WeighbridgeError) and issubclass(kind, base)
        assert not issubclass(kind, OSError)
        error = kind("text")
        assert str(error) == "text"
        assert (error.path, error.tensor, error.offset, error.hint) == (None,) * 4


def test_damage(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(GGUF.read_bytes()[:40])
    with pytest.raises(wb.MalformedError) as raised:
        wb.open(path)
    error = raised.value
    assert (error.kind, error.path, error.tensor) == ("malformed", str(path), None)
    assert isinstance(error.offset, int) and error.reason and error.reason in str(error)
    assert str(path) in str(error)
    assert error.hint is None or error.__notes__ == [f"hint: {error.hint}"]


def test_damage_with_a_hint() -> None:
    with wb.open(FILES / "pth" / "wrong_crc.pth") as model:
        with pytest.raises(wb.MalformedError, match="CRC-32") as raised:
            model["fc.weight"].numpy()
    error = raised.value
    assert error.tensor == "fc.weight" and error.offset == 896
    assert error.hint and error.__notes__ == [f"hint: {error.hint}"]


def test_what_is_unsupported() -> None:
    with pytest.raises(wb.UnsupportedError) as raised:
        wb.open(FILES / "pth" / "legacy_tar.pth")
    assert raised.value.kind == "unsupported" and "tar" in raised.value.reason
    with wb.open(FILES / "pth" / "numpy.pth") as model:
        weight = model["text"]
        assert weight.undecodable is not None
        for job in (weight.numpy, weight.tensor, lambda: weight.numpy("f32"), lambda: weight[0]):
            with pytest.raises(wb.UnsupportedError) as raised:
                job()
            assert raised.value.tensor == "text" and raised.value.kind == "unsupported"


def test_limits(tmp_path: Path) -> None:
    with pytest.raises(wb.LimitError) as raised:
        wb.open(TINY, limits={"max_items": 3})
    assert raised.value.kind == "limit"
    for limit in ("max_allocation", "max_total", "max_depth", "max_ratio", "max_pickle_steps"):
        wb.open(GGUF, limits={limit: 1 << 30}).close()  # type: ignore[misc]
    with pytest.raises(wb.UsageError, match="max_nonsense"):
        wb.open(TINY, limits={"max_nonsense": 3})  # type: ignore[typeddict-unknown-key]
    for bomb in (ROOT / "tests" / "bad").iterdir():
        try:
            wb.inspect(bomb)
        except wb.WeighbridgeError:
            pass


def test_names_that_are_not_there(tiny: wb.Model) -> None:
    with pytest.raises(wb.NoSuchTensorError) as raised:
        tiny["model.norm.weigth"]
    error = raised.value
    assert isinstance(error, KeyError) and error.kind == "no-such-tensor"
    assert "model.norm.weigth" in str(error) and not str(error).startswith(("'", '"'))
    assert error.hint == "did you mean model.norm.weight?"
    with pytest.raises(KeyError):
        tiny.metadata["nothing"]
    with pytest.raises(TypeError):
        tiny[3]  # type: ignore[index]


def test_close_names(tiny: wb.Model) -> None:
    def hint(name: str) -> str:
        with pytest.raises(wb.NoSuchTensorError) as raised:
            tiny[name]
        assert raised.value.reason == "the model has no such weight"
        assert raised.value.tensor == name
        return raised.value.hint or ""

    # The end of one name, the end of several, a slip in a long name, and nothing close.
    assert hint("norm.weight") == "did you mean model.norm.weight?"
    assert "q_proj.weight" in hint("proj.weight") and hint("proj.weight").startswith("use a full name")
    assert GPTQ in hint(GPTQ.replace("up_proj", "upproj"))
    assert hint("zzz") == hint("") == "list(model) returns all names"
    assert tiny.get("norm.weight") is None and tiny.get("norm.weight", default=3) == 3
    assert tiny.get(GPTQ) is not None and "norm.weight" not in tiny


def test_usage(tiny: wb.Model, tmp_path: Path) -> None:
    jobs: list[Any] = [
        lambda: tiny[GPTQ].read(out=bytearray(1)),
        lambda: wb.convert(tiny, tmp_path / "out.gguf", dtype="nothing"),  # type: ignore[arg-type]
        lambda: wb.convert(tiny, tmp_path / "out.gguf", include=["("]),
        lambda: wb.quantize(tiny, tmp_path / "out.gguf"),
        lambda: wb.quantize(tiny, tmp_path / "out.gguf", "nothing"),
        lambda: wb.convert(tiny, tmp_path / "out.gguf", max_shard_size="many"),
        lambda: wb.open(TINY, scheme={".": "nothing/v1"}),
        lambda: wb.diff(tiny, tiny, fail_over="nothing"),
        lambda: wb.diff(tiny, tiny, values="nothing"),  # type: ignore[arg-type]
    ]
    for number, job in enumerate(jobs):
        with pytest.raises(wb.UsageError) as raised:
            job()
        assert raised.value.kind == "usage", number
    assert list(tmp_path.iterdir()) == []


def test_outputs_that_are_no_format(tiny: wb.Model, tmp_path: Path) -> None:
    with pytest.raises(wb.UnsupportedError) as raised:
        wb.convert(tiny, tmp_path / "out.nothing")
    assert raised.value.path == str(tmp_path / "out.nothing")
    assert raised.value.hint and ".safetensors" in raised.value.hint


def test_missing_files(tmp_path: Path) -> None:
    missing = tmp_path / "missing.gguf"
    jobs: list[Any] = [
        lambda: wb.open(missing),
        lambda: wb.open(str(missing)),
        lambda: wb.open_all(missing),
        lambda: wb.inspect(missing),
        lambda: wb.dequantize(missing, tmp_path / "out"),
        lambda: wb.convert(missing, tmp_path / "out.gguf"),
        lambda: wb.safe_open(missing, framework="np"),
        lambda: wb.numpy.load_file(missing),
        lambda: wb.diff(TINY, missing),
    ]
    for job in jobs:
        with pytest.raises(FileNotFoundError) as raised:
            job()
        assert raised.value.errno == errno.ENOENT
        assert raised.value.filename == str(missing)


REFUSED = """
import errno, os, sys
import weighbridge as wb
if os.getuid() == 0:
    # Who may do everything is refused nothing: as another user.
    os.setgid(65534)
    os.setuid(65534)
for job in (wb.open, wb.inspect, lambda path: wb.open(path, mmap=True)):
    try:
        job(sys.argv[1])
    except PermissionError as error:
        assert (error.errno, error.filename) == (errno.EACCES, sys.argv[1]), error
    else:
        raise AssertionError("it was read")
"""


@pytest.mark.skipif(os.name != "posix", reason="there are no such permissions")
def test_files_that_may_not_be_read() -> None:
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        path = Path(place, "closed.gguf")
        path.write_bytes(GGUF.read_bytes())
        path.chmod(0)
        python(REFUSED, path, cwd=Path(place))


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises((OSError, wb.UsageError)):
        wb.convert(GGUF, tmp_path / "missing" / "folder" / "out.safetensors")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises((OSError, wb.UsageError)):
        wb.convert(GGUF, tmp_path / "file" / "out.safetensors")
    taken = tmp_path / "taken.safetensors"
    taken.write_bytes(b"mine")
    with pytest.raises((FileExistsError, wb.UsageError)):
        wb.convert(GGUF, taken)
    assert taken.read_bytes() == b"mine"


def test_directories_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(wb.WeighbridgeError) as raised:
        wb.open(tmp_path)
    assert raised.value.path == str(tmp_path)


@pytest.mark.parametrize("source", [None, 3, 1.5, [], {}, object(), print])
def test_what_is_no_model(source: Any) -> None:
    with pytest.raises(TypeError, match="use a path, an address, bytes"):
        wb.open(source)


def test_any_short_bytes_are_refused_politely() -> None:
    for length in (0, 1, 4, 8, 9, 64, 1000):
        for byte in (b"\0", b"\xff", b"P", b"{"):
            with pytest.raises(wb.WeighbridgeError):
                wb.open(byte * length)


def test_every_prefix_of_a_file_is_opened_or_refused() -> None:
    for name in ("gguf/bf16.gguf", "npz/mixed.npz", "safetensors/any-order.safetensors"):
        data = (FILES / name).read_bytes()
        for length in range(0, len(data), 7):
            try:
                with wb.open(data[:length]) as model:
                    for weight in model.values():
                        weight.stored_bytes()
            except wb.WeighbridgeError:
                continue
