"""Many threads and one model."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import weighbridge as wb
import weighbridge.numpy
from shared import FILES, GPTQ, TINY

THREADS = 8


def together(job: Callable[[int], object]) -> list[object]:
    """What each of several threads gives that begin at once."""
    gate = threading.Barrier(THREADS)

    def begin(number: int) -> object:
        gate.wait(30)
        return job(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


def test_the_same_weight(tiny: wb.Model) -> None:
    weight = tiny[GPTQ]
    wanted = weight.numpy("f32").tobytes()
    found = together(lambda _: [weight.numpy("f32").tobytes() for _ in range(20)])
    assert found == [[wanted] * 20] * THREADS


def test_different_weights_of_every_kind_of_source() -> None:
    path = FILES / "ggml" / "blocks.gguf"
    data = path.read_bytes()
    wanted = {name: array.tobytes() for name, array in wb.numpy.load_file(path).items()}
    names = list(wanted)
    with path.open("rb") as file:
        for source in (path, data, bytearray(data), file, Slow(data)):
            model = wb.open(source)

            def job(number: int, model: wb.Model = model) -> bool:
                turned = names[number * 7 :] + names[: number * 7]
                return all(model[name].numpy().tobytes() == wanted[name] for name in turned)

            assert all(together(job)), type(source)


class Slow:
    """A file object of Python code, whose place several threads would spoil for each other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def read(self, size: int = -1) -> bytes:
        start, self.at = self.at, min(self.at + size, len(self.data))
        return self.data[start : self.at]

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = offset + (0, self.at, len(self.data))[whence]
        return self.at


def test_reports_and_rows_meanwhile(tiny: wb.Model) -> None:
    report, rows = tiny.report(tensors=True), tiny[GPTQ][3:9].tobytes()

    def job(number: int) -> bool:
        return all(
            tiny.report(tensors=True) == report and tiny[GPTQ][3:9].tobytes() == rows
            for _ in range(10)
        )

    assert all(together(job))


def test_closing_meanwhile() -> None:
    with wb.open(TINY) as model:
        wanted = model[GPTQ].numpy().tobytes()
    for _ in range(20):
        model = wb.open(TINY)

        def job(number: int, model: wb.Model = model) -> str:
            try:
                weight = model[GPTQ]
                for _ in range(number):
                    assert weight.numpy().tobytes() == wanted
                model.close()
                assert weight.numpy().tobytes() == wanted
            except wb.UsageError as error:
                assert "closed" in str(error)
                return "closed"
            return "read"

        assert "closed" in together(job)
        assert model.closed


def test_one_array_is_filled_by_one_thread_each() -> None:
    with wb.open(TINY) as model:
        weight = model[GPTQ]
        whole = np.zeros(weight.shape, np.float32)
        step = weight.shape[0] // THREADS

        def job(number: int) -> None:
            rows = slice(number * step, (number + 1) * step)
            weight.read(out=whole[rows], rows=rows)

        together(job)
        assert whole.tobytes() == weight.numpy("f32").tobytes()
