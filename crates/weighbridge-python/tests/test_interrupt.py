"""Ctrl-C: in the library an exception, of the command the exit code 130, and no output in both."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import weighbridge as wb
from shared import environment
from slow import many_weights

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")

#: Says when the work goes on, and how it ended.
PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
from slow import SlowFile
import weighbridge as wb
import weighbridge.numpy
file = SlowFile(open(sys.argv[1], "rb").read())
model = wb.open(file)
file.pause = 0.2
print("ready", flush=True)
try:
    {job}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    file.pause = 0
    assert len(model["w001"].numpy()) == 64
"""

JOBS = {
    "convert": "wb.convert(model, sys.argv[2])",
    "convert with a callback": "wb.convert(model, sys.argv[2], progress=lambda done, all: None)",
    "quantize": 'wb.quantize(model, sys.argv[2] + ".gguf", "Q8_0", names="keep")',
    "diff": "wb.diff(model, model, values='all')",
    "load": "weighbridge.numpy.load_file(model)",
    "load with a callback": "weighbridge.numpy.load_file(model, progress=lambda done, all: None)",
}


def listening() -> None:
    """A shell that starts the tests in the background makes them deaf to Ctrl-C, and what they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("name", JOBS)
def test_the_library(name: str, tmp_path: Path) -> None:
    source = many_weights(tmp_path / "many.safetensors", 200)
    place = tmp_path / "place"
    place.mkdir()
    code = PROGRAM.format(tests=str(Path(__file__).parent), job=JOBS[name])
    words = [sys.executable, "-c", code, str(source), str(place / "out.safetensors")]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        preexec_fn=listening,
    ) as process:
        guard = threading.Timer(60, process.kill)
        guard.start()
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        # Once it has begun to read; without a pause it would be done by then.
        threading.Event().wait(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        guard.cancel()
    assert (out, process.returncode) == ("interrupted\n", 0), err
    assert list(place.iterdir()) == []


def test_a_handler_of_the_program_is_called(tmp_path: Path) -> None:
    from slow import SlowFile

    file = SlowFile(many_weights(tmp_path / "many.safetensors").read_bytes())
    model = wb.open(file)
    file.pause = 0.03
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    try:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        wb.convert(model, tmp_path / "out.safetensors")
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [signal.SIGUSR1] and (tmp_path / "out.safetensors").exists()


def test_the_command(tmp_path: Path) -> None:
    """The command reads a pipe that is not filled before it is interrupted."""
    output = tmp_path / "place" / "out.safetensors"
    output.parent.mkdir()
    data = many_weights(tmp_path / "many.safetensors").read_bytes()
    words = [sys.executable, "-m", "weighbridge", "convert", "-", "-o", str(output)]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
        preexec_fn=listening,
    ) as process:
        guard = threading.Timer(60, process.kill)
        guard.start()
        assert process.stdin is not None
        process.stdin.write(data[:5000])
        process.stdin.flush()
        threading.Event().wait(1.0)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        threading.Event().wait(0.2)
        try:
            process.stdin.write(data[5000:-1])
            process.stdin.flush()
        except BrokenPipeError:
            pass  # It did not wait for more.
        process.wait()
        assert process.stderr is not None
        err = process.stderr.read()
        guard.cancel()
    assert process.returncode == 130, err
    assert b"Traceback" not in err
    assert list(output.parent.iterdir()) == []


def test_the_command_that_only_looks() -> None:
    """It has nothing to tidy up, and ends at once."""
    words = [sys.executable, "-m", "weighbridge", "inspect", "-"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
        preexec_fn=listening,
    ) as process:
        guard = threading.Timer(60, process.kill)
        guard.start()
        threading.Event().wait(1.0)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        guard.cancel()
    assert process.returncode in (130, -signal.SIGINT), err
    assert (out, b"Traceback" in err) == (b"", False)
