"""Nothing is called right that was not looked at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import weighbridge as wb
from shared import TINY


def test_nothing_to_compare_is_no_verdict(plain: Path) -> None:
    assert wb.diff(TINY, plain, include=["mlp"])["ok"]
    with pytest.raises(wb.UsageError, match="select no weights"):
        wb.diff(TINY, plain, include=["no such name"])
    with pytest.raises(wb.UsageError, match="select no weights"):
        wb.diff(TINY, plain, exclude=["."])


@pytest.mark.parametrize(
    "given",
    [{"imatrix": "x"}, {"pure": True}, {"keep": ["x"]}, {"layout": "x"}, {"effort": "high"}],
    ids=lambda given: next(iter(given)),
)
def test_how_it_was_quantized_needs_what_to(plain: Path, given: dict[str, object]) -> None:
    with pytest.raises(wb.UsageError, match=next(iter(given))):
        wb.verify(plain, TINY, **given)  # type: ignore[arg-type]


#: Closing a model of memory that Python holds, while other threads ask whether it is closed.
CLOSING = """
import faulthandler, threading
faulthandler.dump_traceback_later(60, exit=True)
import weighbridge as wb
text = b'{"a":{"dtype":"U8","shape":[100000],"data_offsets":[0,100000]}}'
data = bytearray(len(text).to_bytes(8, "little") + text + bytes(100000))
box, stop = [wb.open(data)], []
def look():
    while not stop:
        box[0].closed
threads = [threading.Thread(target=look, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(500):
    box[0] = model = wb.open(data)
    model.close()
stop.append(1)
for thread in threads:
    thread.join()
"""


def test_closing_waits_for_nobody_who_waits_for_it() -> None:
    done = subprocess.run([sys.executable, "-c", CLOSING], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors cannot be counted here")
def test_descriptors_are_given_back() -> None:
    place = Path(TINY) / "model-00001-of-00002.safetensors"
    with place.open("rb") as file:
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            with pytest.raises((wb.UsageError, TypeError, OverflowError)):
                wb.open(file, limits={"max_items": -1})
            wb.open(file).close()
        assert len(os.listdir("/proc/self/fd")) == before


def test_many_entries_are_found_quickly() -> None:
    """Each by its place: a search through all for each would take minutes."""
    entries = ",".join(f'"key {n}":"value {n}"' for n in range(50_000))
    text = f'{{"__metadata__":{{{entries}}}}}'.encode()
    text += b" " * (-len(text) % 8)
    with wb.open(len(text).to_bytes(8, "little") + text) as model:
        found = dict(model.metadata)
    assert len(found) == 50_000
    assert found["key 49999"] == "value 49999"
