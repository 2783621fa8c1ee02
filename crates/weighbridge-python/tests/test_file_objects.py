"""File objects of many kinds, and those that fail: what they raise arrives as it was."""

from __future__ import annotations

import errno
import gzip
import io
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

import weighbridge as wb
from shared import FILES

GGUF = FILES / "gguf" / "bf16.gguf"


class Failing(io.BytesIO):
    """A file object that fails after some reads."""

    def __init__(self, data: bytes, exception: BaseException) -> None:
        super().__init__(data)
        self.exception, self.left = exception, 10**9

    def read(self, size: int | None = -1, /) -> bytes:
        self.left -= 1
        if self.left < 0:
            raise self.exception
        return super().read(size)


class Mine(Exception):
    pass


@pytest.mark.parametrize(
    "exception",
    [Mine("mine"), OSError(errno.EIO, "broken"), KeyboardInterrupt(), EOFError(), MemoryError()],
    ids=lambda exception: type(exception).__name__,
)
def test_exceptions_of_a_file_object_arrive(exception: BaseException, tmp_path: Path) -> None:
    file = Failing(GGUF.read_bytes(), exception)
    file.left = 0
    with pytest.raises(type(exception)) as raised:
        wb.open(file)
    assert raised.value is exception
    file.left = 10**9
    with wb.open(file) as model:
        jobs: list[Any] = [
            model["special"].numpy,
            lambda: model["special"].tensor(),
            lambda: wb.numpy.load_file(model),
            lambda: wb.numpy.load_file(model, progress=print),
            lambda: wb.convert(model, tmp_path / "out.safetensors"),
        ]
        for job in jobs:
            file.left = 0
            with pytest.raises(type(exception)) as raised:
                job()
            assert raised.value is exception
        file.left = 10**9
        assert model["special"].numpy("f32").shape == (4, 32)
    assert list(tmp_path.iterdir()) == []


def test_file_objects_that_make_no_sense(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("text")
    with path.open() as text, pytest.raises(TypeError, match="mode 'rb'"):
        wb.open(text)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        wb.open(io.StringIO("text"))  # type: ignore[arg-type]

    class Strings:
        def read(self, size: int = -1) -> str:
            return "text"

        def seek(self, offset: int, whence: int = 0) -> int:
            return 0

    with pytest.raises((OSError, TypeError, wb.WeighbridgeError)):
        wb.open(Strings())  # type: ignore[arg-type]
    with path.open("rb") as closed:
        pass
    with pytest.raises(ValueError):
        wb.open(closed)


def test_objects_of_many_kinds(tmp_path: Path) -> None:
    data = GGUF.read_bytes()
    (tmp_path / "packed.gz").write_bytes(gzip.compress(data))
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("member", data)
    # What was written but lies in a buffer still counts.
    written = (tmp_path / "written").open("w+b")
    written.write(data)
    spooled = tempfile.SpooledTemporaryFile()
    spooled.write(data)
    named = tempfile.NamedTemporaryFile()
    named.write(data)
    named.flush()
    with zipfile.ZipFile(tmp_path / "packed.zip") as archive, archive.open("member") as member:
        with gzip.open(tmp_path / "packed.gz") as packed, written, spooled, named:
            sources: list[Any] = [packed, member, written, spooled, named, io.BytesIO(data)]
            for source in sources:
                with wb.open(source) as model, wb.open(GGUF) as wanted:
                    found = model["special"].numpy("f32").tobytes()
                    assert found == wanted["special"].numpy("f32").tobytes(), source


def test_reads_that_give_less() -> None:
    """A read may give fewer bytes than were asked for."""

    class Few(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(size, 7) if size and size > 0 else size)

    class Many(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(-1)

    with wb.open(Few(GGUF.read_bytes())) as model, wb.open(GGUF) as wanted:
        assert model["special"].numpy("f32").tobytes() == wanted["special"].numpy("f32").tobytes()
    try:
        with wb.open(Many(GGUF.read_bytes())) as model, wb.open(GGUF) as wanted:
            assert bytes(model["special"].tensor()) == bytes(wanted["special"].tensor())
    except (OSError, wb.WeighbridgeError):
        pass  # More than was asked for may be refused, but not mixed up.


def test_a_descriptor_is_not_kept() -> None:
    """The model has its own: the caller may close the file, and closing the model keeps it open."""
    with GGUF.open("rb") as file:
        model = wb.open(file)
        other = wb.open(file)
        other.close()
        assert not file.closed and file.read(4) == b"GGUF"
    assert model["special"].numpy("f32").shape == (4, 32)
