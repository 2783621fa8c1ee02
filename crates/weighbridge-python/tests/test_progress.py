"""Progress: who calls it, with what, and what happens if it raises."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import weighbridge as wb
import weighbridge.numpy
from shared import FILES, TINY, python
from slow import SlowFile, many_weights


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[wb.Model]:
    """A model that takes about two seconds to read."""
    file = SlowFile(many_weights(tmp_path / "many.safetensors").read_bytes())
    with wb.open(file) as model:
        file.pause = 0.03
        yield model


class Noted:
    """A callback that notes how it was called."""

    def __init__(self, after: Callable[[], object] = lambda: None) -> None:
        self.calls: list[tuple[int, int]] = []
        self.threads: set[threading.Thread] = set()
        self.after = after

    def __call__(self, done: int, total: int) -> None:
        self.calls.append((done, total))
        self.threads.add(threading.current_thread())
        self.after()

    def check(self) -> None:
        assert self.threads == {threading.current_thread()}
        done = [done for done, _ in self.calls]
        assert done == sorted(set(done)), "numbers do not grow"
        totals = {total for _, total in self.calls}
        assert len(totals) == 1 and self.calls[-1] == (totals.pop(),) * 2


def test_converting(slow: wb.Model, tmp_path: Path) -> None:
    noted = Noted()
    wb.convert(slow, tmp_path / "out.safetensors", progress=noted)
    noted.check()
    assert len(noted.calls) > 3


def test_loading(slow: wb.Model) -> None:
    noted = Noted()
    found = weighbridge.numpy.load_file(slow, progress=noted)
    noted.check()
    assert len(found) == 40 and len(noted.calls) > 3


def test_every_verb_calls_back(tmp_path: Path) -> None:
    plain, gguf = tmp_path / "plain", tmp_path / "small.gguf"
    jobs: dict[str, Callable[[Any], object]] = {
        "dequantize": lambda note: wb.dequantize(TINY, plain, progress=note),
        "quantize": lambda note: wb.quantize(
            TINY, gguf, "Q8_0", allow_requantize=True, progress=note
        ),
        "verify": lambda note: wb.verify(plain, TINY, progress=note),
        "diff": lambda note: wb.diff(plain, TINY, progress=note),
        "stats": lambda note: wb.stats(TINY, progress=note),
        "hash": lambda note: wb.hash(TINY, progress=note),
    }
    for verb, job in jobs.items():
        noted = Noted()
        job(noted)
        assert noted.calls, verb
        noted.check()


class Stop(Exception):
    pass


@pytest.mark.parametrize("exception", [Stop("enough"), KeyboardInterrupt(), SystemExit(3)])
def test_what_a_callback_raises_arrives(
    slow: wb.Model, tmp_path: Path, exception: BaseException
) -> None:
    def stop() -> None:
        raise exception

    place = tmp_path / "place"
    place.mkdir()
    noted = Noted(stop)
    with pytest.raises(type(exception)) as raised:
        wb.convert(slow, place / "out.safetensors", progress=noted)
    assert raised.value is exception
    assert len(noted.calls) == 1, "it was called again after it had raised"
    assert list(place.iterdir()) == [], "something was left behind"
    # The model is as good as before.
    assert slow["w007"].numpy().tobytes() == bytes([7]) * 1024


def test_a_callback_that_raises_when_all_is_done(tmp_path: Path) -> None:
    """Short work may be done before the first call: its output is whole then, or not there."""

    def stop() -> None:
        raise Stop

    output = tmp_path / "out.safetensors"
    with pytest.raises(Stop):
        wb.convert(TINY, output, progress=Noted(stop))
    left = list(tmp_path.iterdir())
    assert left == [] or (left == [output] and wb.verify(output, TINY)["ok"])


def test_a_load_that_is_stopped(slow: wb.Model) -> None:
    def stop() -> None:
        raise Stop

    noted = Noted(stop)
    with pytest.raises(Stop):
        weighbridge.numpy.load_file(slow, progress=noted)
    assert len(noted.calls) == 1 and noted.calls[0][0] < noted.calls[0][1]


def test_what_is_no_callback(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        wb.convert(TINY, tmp_path / "out.gguf", progress=3)  # type: ignore[arg-type]
    wb.convert(TINY, tmp_path / "none.gguf", progress=None)
    wb.convert(TINY, tmp_path / "false.gguf", progress=False)


class Bar:
    """What the package needs of a bar of tqdm."""

    made: list[Bar] = []

    def __init__(self, **options: object) -> None:
        self.options, self.n, self.total, self.closed = options, 0, 0, False
        self.made.append(self)

    def update(self, more: int) -> None:
        self.n += more

    def close(self) -> None:
        self.closed = True


def test_a_bar_of_tqdm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module: Any = type(sys)("tqdm.auto")
    module.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", type(sys)("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    Bar.made.clear()
    report = wb.convert(TINY, tmp_path / "out.gguf", progress=True)
    weighbridge.numpy.load_file(TINY, progress=True)
    assert report["write_bytes"] and [bar.options["desc"] for bar in Bar.made] == [
        "converting",
        "loading",
    ]
    assert all(bar.closed and bar.n == bar.total > 0 for bar in Bar.made)


class Terminal(io.StringIO):
    """A stream that says what it is."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


@pytest.fixture
def no_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


def test_our_own_bar(no_tqdm: None, monkeypatch: pytest.MonkeyPatch, slow: wb.Model) -> None:
    stream = Terminal(True)
    monkeypatch.setattr(sys, "stderr", stream)
    assert len(weighbridge.numpy.load_file(slow, progress=True)) == 40
    drawn = stream.getvalue()
    assert drawn.endswith("\n") and drawn.count("\n") == 1
    *_, first, last = drawn.rstrip("\n").split("\r")
    assert first.startswith("loading [#") and "-] " in first
    assert last.startswith(f"loading [{'#' * 24}] 100% ") and "/s" in last
    assert max(map(len, drawn.split("\r"))) < 80, "it does not fit a terminal"


def test_no_bar_where_there_is_no_terminal(
    no_tqdm: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stream = Terminal(False)
    monkeypatch.setattr(sys, "stderr", stream)
    wb.convert(TINY, tmp_path / "piped.gguf", progress=True)
    assert stream.getvalue() == ""
    closed = Terminal(True)
    closed.close()
    for odd in (None, closed):
        monkeypatch.setattr(sys, "stderr", odd)
        assert len(weighbridge.numpy.load_file(TINY, progress=True)) == 21


def test_a_bar_ends_its_line_when_the_work_fails(
    no_tqdm: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weighbridge._progress import shown

    stream = Terminal(True)
    monkeypatch.setattr(sys, "stderr", stream)
    with pytest.raises(Stop), shown(True, "hashing") as show:
        assert show is not None
        show(3 << 20, 10 << 20)
        raise Stop
    assert "30% 3.0 MiB of 10.0 MiB" in stream.getvalue() and stream.getvalue().endswith("\n")


def test_the_real_tqdm_if_it_is_there(tmp_path: Path) -> None:
    code = """
import sys, weighbridge as wb
wb.convert(sys.argv[1], sys.argv[2], progress=True)
"""
    done = python(code, FILES / "gguf" / "shapes.gguf", tmp_path / "out.safetensors")
    try:
        import tqdm  # noqa: F401
    except ImportError:
        assert done.stderr == ""
    else:
        assert "converting" in done.stderr and "100%" in done.stderr
