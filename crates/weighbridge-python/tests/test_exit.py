"""The interpreter exits while daemon threads are inside the library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shared import environment
from slow import many_weights

#: A daemon thread works until the process ends. Between the exit handlers and the end of the
#: interpreter some time passes, in which the work goes on.
PROGRAM = """
import sys, threading, time
sys.path.insert(0, {tests!r})
from slow import SlowFile
import weighbridge as wb
import weighbridge.numpy

started = threading.Event()

def work():
    while True:
        {job}

class Late:
    def __del__(self, sleep=time.sleep):
        sleep(0.3)

file = SlowFile(open(sys.argv[1], "rb").read())
model = wb.open(file)
file.pause = {pause}
late = sys.modules["late"] = Late()
threading.Thread(target=work, daemon=True).start()
started.wait(30)
time.sleep({delay})
print("exit", flush=True)
"""

JOBS = {
    "short reads": "model['w001'].numpy(); started.set()",
    "a long verb": "started.set(); wb.stats(model)",
    "inspect of a path": "wb.inspect(sys.argv[1]); started.set()",
    "a verb with a callback": "started.set(); wb.hash(model, progress=lambda done, all: None)",
}


@pytest.mark.parametrize("name", JOBS)
def test_the_process_ends_in_order(name: str, tmp_path: Path) -> None:
    source = many_weights(tmp_path / "many.safetensors", 40)
    for round in range(4):
        code = PROGRAM.format(
            tests=str(Path(__file__).parent),
            job=JOBS[name],
            pause=0.002,
            delay=0.01 * round,
        )
        words = [sys.executable, "-c", code, str(source)]
        done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=60)
        assert (done.stdout, done.returncode) == ("exit\n", 0), done.stderr
        assert "panicked" not in done.stderr and "Fatal" not in done.stderr, done.stderr


def test_work_that_does_not_end_is_left_behind(tmp_path: Path) -> None:
    """A read that waits for ever does not keep the process."""
    source = many_weights(tmp_path / "many.safetensors", 4)
    code = PROGRAM.format(
        tests=str(Path(__file__).parent),
        job="file.pause = 1000; started.set(); wb.stats(model)",
        pause=0,
        delay=0.2,
    )
    words = [sys.executable, "-c", code, str(source)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=60)
    assert (done.stdout, done.returncode) == ("exit\n", 0), done.stderr


def test_exit_handlers_may_use_the_library(tmp_path: Path) -> None:
    code = """
import atexit, sys
atexit.register(lambda: print(len(wb.open(sys.argv[1])), flush=True))
import weighbridge as wb
"""
    source = many_weights(tmp_path / "many.safetensors", 4)
    words = [sys.executable, "-c", code, str(source)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=60)
    assert (done.stdout, done.returncode) == ("4\n", 0), done.stderr
