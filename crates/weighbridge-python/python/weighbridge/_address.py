"""Where a model is: a path, a name, or an address."""

from __future__ import annotations

import os
import re

from . import _weighbridge as native
from ._errors import UsageError

_SCHEMES = "|".join(native.schemes())
_ADDRESS = re.compile(rf"({_SCHEMES})://")
#: What becomes of an address that is taken for a path: two slashes are one.
_COLLAPSED = re.compile(rf"({_SCHEMES}):[/\\](?![/\\])")


def location(source: str | os.PathLike[str]) -> str:
    """A path or an address as text; the native part tells them apart, and a path always wins."""
    text = os.fsdecode(source)
    if _COLLAPSED.match(text) and not os.path.exists(text):
        scheme = text.partition(":")[0]
        raise UsageError(
            f"{text}: there is no such file, and an address begins with {scheme}://",
            hint="give an address as text; pathlib.Path makes one slash of two",
        )
    return text


def is_address(text: str) -> bool:
    """Whether it leads elsewhere."""
    return _ADDRESS.match(text) is not None and not os.path.exists(text)


def holds_secrets(address: str) -> bool:
    """Whether a web address has a query, which may be a signature, or a password."""
    scheme, _, rest = address.partition("://")
    server = re.split(r"[/?#]", rest, maxsplit=1)[0]
    return scheme in ("http", "https") and ("?" in rest or "@" in server)
