"""The entries: every module in this folder describes a class of projectors, as its `GOLDENS`.

A new class is a new file here, and nothing else; `projector_blocks.py` says what stands in it.
"""

import importlib
import pkgutil

NAMES = sorted(found.name for found in pkgutil.iter_modules(__path__))


def all_of(chosen=None):
    """The goldens by their names: of all classes, or of those whose module or golden is chosen."""
    found = {}
    for name in NAMES:
        for golden, one in importlib.import_module(f"{__name__}.{name}").GOLDENS.items():
            assert golden not in found, f"{name}: there is another {golden}"
            if not chosen or name in chosen or golden in chosen:
                found[golden] = one
    return found
