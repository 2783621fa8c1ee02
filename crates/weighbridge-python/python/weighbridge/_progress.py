"""Progress: a function of the caller, or a bar of tqdm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Called with the bytes done and the bytes to do, in the thread of the caller; `True` shows a bar
#: of tqdm, if that is installed.
Progress = Callable[[int, int], object] | bool | None


@contextmanager
def shown(progress: Progress, what: str) -> Iterator[Callable[[int, int], object] | None]:
    """The function to call, while the work lasts."""
    if progress is None or progress is False:
        yield None
        return
    if progress is not True:
        # Before any work is done, which would be in vain.
        if not callable(progress):
            raise TypeError("progress is a function of two numbers, True or None")
        yield progress
        return
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        yield None
        return
    bar: Any = tqdm(desc=what, unit="B", unit_scale=True, unit_divisor=1024)

    def show(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    try:
        yield show
    finally:
        bar.close()
