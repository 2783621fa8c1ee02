"""The entries: every module in this folder describes a family, as its `FAMILY`.

A new family is a new file here, and nothing else; `family_blocks.py` says what stands in it.
"""

import importlib
import pkgutil

NAMES = sorted(found.name for found in pkgutil.iter_modules(__path__))
FAMILIES = {name: importlib.import_module(f"{__name__}.{name}").FAMILY for name in NAMES}


def all_of(goldens):
    """What the families have of one kind (`names`, `to_gguf`, `configs`, `settings`, ..), by the names of goldens."""
    found = {}
    for name, family in FAMILIES.items():
        for golden, one in getattr(family, goldens).items():
            assert golden not in found, f"{name}: there is another {golden} in {goldens}"
            found[golden] = one
    return found
