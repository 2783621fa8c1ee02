"""Other interpreters in the same process: importing says clearly that it cannot be done."""

from __future__ import annotations

import subprocess
import sys

import pytest

from shared import environment

CODE = """
try:
    import weighbridge
    weighbridge.open
except ImportError as error:
    print("ImportError:", error, flush=True)
"""

PROGRAM = f"""
import sys
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    run = interpreters.exec
else:
    import _xxsubinterpreters as interpreters
    run = interpreters.run_string
if sys.argv[1] == "first":
    import weighbridge
one = interpreters.create()
run(one, {CODE!r})
interpreters.destroy(one)
import weighbridge
print(weighbridge.__version__)
"""


@pytest.mark.parametrize("order", ["first", "second"])
def test_importing_fails_by_name(order: str) -> None:
    """In the main interpreter the package works, whichever comes first."""
    words = [sys.executable, "-c", PROGRAM, order]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=60)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert len(lines) == 2 and lines[0].startswith("ImportError:"), done.stdout
    assert "interpreter" in lines[0]
