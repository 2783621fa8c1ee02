"""Progress: a callback, a tqdm bar, or a plain bar on the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

#: A callback that gets the bytes done and the bytes in total, in the caller's thread. `True` shows a
#: bar: that of tqdm if it is installed, else one on standard error if that is a terminal.
Progress = Callable[[int, int], object] | bool | None

_WIDTH = 24


@contextmanager
def shown(progress: Progress, what: str) -> Iterator[Callable[[int, int], object] | None]:
    """Yields the callback for one piece of work, and removes the bar afterwards."""
    if progress is None or progress is False:
        yield None
        return
    if progress is not True:
        # Checked before the work begins.
        if not callable(progress):
            raise TypeError("progress is a function of two numbers, True or None")
        yield progress
        return
    bar = _tqdm_bar(what) or _terminal_bar(what)
    if bar is None:
        yield None
        return
    try:
        yield bar.show
    finally:
        bar.close()


class _TqdmBar:
    """A bar of tqdm, which also draws in notebooks."""

    def __init__(self, tqdm: Any, what: str) -> None:
        self._bar = tqdm(desc=what, unit="B", unit_scale=True, unit_divisor=1024)

    def show(self, done: int, total: int) -> None:
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        self._bar.close()


class _TerminalBar:
    """One line on a terminal, drawn over itself and ended with a line break."""

    def __init__(self, stream: TextIO, what: str) -> None:
        self._stream, self._what = stream, what
        self._started = time.monotonic()
        self._longest = 0

    def show(self, done: int, total: int) -> None:
        share = min(done / total, 1.0) if total else 1.0
        filled = int(share * _WIDTH)
        bar = "#" * filled + "-" * (_WIDTH - filled)
        speed = done / max(time.monotonic() - self._started, 1e-3)
        line = f"{self._what} [{bar}] {share:4.0%} {_size(done)} of {_size(total)}, {_size(speed)}/s"
        # A shorter line must cover the rest of a longer one.
        self._write("\r" + line.ljust(self._longest))
        self._longest = max(self._longest, len(line))

    def close(self) -> None:
        if self._longest:
            self._write("\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # The terminal is gone: the work goes on without a bar.
            pass


def _tqdm_bar(what: str) -> _TqdmBar | None:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return None
    return _TqdmBar(tqdm, what)


def _terminal_bar(what: str) -> _TerminalBar | None:
    # Programs without a console have no standard error.
    stream: TextIO | None = sys.stderr
    try:
        is_terminal = stream is not None and stream.isatty()
    except (AttributeError, ValueError):
        is_terminal = False
    return _TerminalBar(stream, what) if stream is not None and is_terminal else None


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
