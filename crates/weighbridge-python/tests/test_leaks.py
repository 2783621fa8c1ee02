"""Nothing is kept: memory and open files stay the same over a thousand rounds.

What one round reads is 32 KiB or more; kept each time, a thousand rounds would add 32 MiB.
"""

from __future__ import annotations

import gc
import os
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import weighbridge as wb
import weighbridge.numpy
from shared import FILES, GPTQ, TINY

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")

ROUNDS = 1000
WARM = 100
#: Bytes that the process may grow by, and objects of Python.
MOST_RESIDENT = 4 << 20
MOST_TRACED = 64 << 10


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def files() -> int:
    return len(os.listdir("/proc/self/fd"))


def opened_and_read() -> None:
    with wb.open(TINY) as model:
        assert model[GPTQ].numpy("f32").shape == (128, 64)


def never_closed() -> None:
    wb.open(TINY, mmap=True)[GPTQ].tensor("f32")


def of_bytes() -> None:
    data = (FILES / "gguf" / "shapes.gguf").read_bytes()
    wb.open(data).report(tensors=True)
    wb.open(bytearray(data)).report()


def capsules_that_are_taken() -> None:
    array = np.from_dlpack(MODEL[GPTQ].tensor("f32"))
    assert array.shape == (128, 64)
    np.from_dlpack(MODEL[GPTQ])


def capsules_that_nobody_takes() -> None:
    tensor = MODEL[GPTQ].tensor("f32")
    tensor.__dlpack__()
    tensor.__dlpack__(copy=True)
    tensor.__dlpack__(max_version=(1, 0))
    MODEL[GPTQ].__dlpack__()


def views() -> None:
    with wb.open(TINY, mmap=True) as model:
        view = model["model.norm.weight"].view()
    view.__dlpack__(max_version=(1, 0))
    view.__dlpack__()
    memoryview(view).release()


def errors() -> None:
    for job in (lambda: MODEL["nothing"], lambda: MODEL[GPTQ].read(out=bytearray(3))):
        try:
            job()
        except wb.WeighbridgeError:
            continue
        raise AssertionError("there was no error")


def whole_models() -> None:
    weighbridge.numpy.load_file(MODEL)


MODEL = wb.open(TINY)
JOBS: list[Callable[[], None]] = [
    opened_and_read,
    never_closed,
    of_bytes,
    capsules_that_are_taken,
    capsules_that_nobody_takes,
    views,
    errors,
    whole_models,
]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.__name__)
def test_memory_stays_the_same(job: Callable[[], None]) -> None:
    # No cycles: what is not kept goes at once.
    gc.collect()
    gc.disable()
    try:
        for _ in range(WARM):
            job()
        before, open_before = resident(), files()
        for _ in range(ROUNDS):
            job()
        assert resident() - before < MOST_RESIDENT
        assert files() == open_before
        tracemalloc.start()
        for _ in range(WARM):
            job()
        traced = tracemalloc.get_traced_memory()[0]
        for _ in range(WARM):
            job()
        assert tracemalloc.get_traced_memory()[0] - traced < MOST_TRACED
    finally:
        tracemalloc.stop()
        gc.enable()
