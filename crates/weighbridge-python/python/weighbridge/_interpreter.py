"""Only the main interpreter of a process can use the package."""

from __future__ import annotations

import sys
from typing import Any


def refuse_others() -> None:
    """Raises ImportError in a sub-interpreter.

    The native part belongs to one interpreter. A second one would get its objects, and the process
    would wait for ever when it exits. This runs before the native part is imported: the first
    interpreter that imports it owns it.
    """
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    try:
        interpreters: Any = __import__(name)
        current, main = interpreters.get_current(), interpreters.get_main()
    except (ImportError, AttributeError):
        # A Python without sub-interpreters.
        return
    if current != main:
        raise ImportError("weighbridge works in the main interpreter only, not in a sub-interpreter")
