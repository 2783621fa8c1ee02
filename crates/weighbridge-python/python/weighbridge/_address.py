"""Tells paths, names and addresses apart."""

from __future__ import annotations

import os
import re

from . import _weighbridge as native
from ._errors import UsageError

_SCHEMES = "|".join(native.schemes())
_ADDRESS = re.compile(rf"({_SCHEMES})://")
#: An address that went through `pathlib.Path`, which collapses the two slashes.
_COLLAPSED = re.compile(rf"({_SCHEMES}):[/\\](?![/\\])")


def location(source: str | os.PathLike[str]) -> str:
    """A path or an address as text. The native part tells them apart; a path takes precedence."""
    text = os.fsdecode(source)
    if _COLLAPSED.match(text) and not os.path.exists(text):
        scheme = text.partition(":")[0]
        raise UsageError(
            f"{text}: no such file, and an address begins with {scheme}://",
            hint="pass the address as a string; pathlib.Path collapses the two slashes",
        )
    return text


def is_address(text: str) -> bool:
    """Whether it is the address of a remote model."""
    return _ADDRESS.match(text) is not None and not os.path.exists(text)


def holds_secrets(address: str) -> bool:
    """Whether a web address has a query, which may be a signature, or a password."""
    scheme, _, rest = address.partition("://")
    server = re.split(r"[/?#]", rest, maxsplit=1)[0]
    return scheme in ("http", "https") and ("?" in rest or "@" in server)
