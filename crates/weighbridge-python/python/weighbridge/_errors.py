"""What can go wrong, by whose fault it is."""

from __future__ import annotations


class WeighbridgeError(Exception):
    """The base of all errors that are about models.

    `path`, `tensor` and `offset` say where it happened, as far as that is known; `reason` is the
    message without them, `hint` what can be done about it, `kind` a stable word.
    """

    kind: str = "internal"
    path: str | None = None
    tensor: str | None = None
    offset: int | None = None
    reason: str = ""
    hint: str | None = None

    def __init__(self, text: str = "", *, hint: str | None = None) -> None:
        super().__init__(text)
        self.reason = text
        self.hint = hint
        if hint is not None:
            self.add_note(f"hint: {hint}")

    def __str__(self) -> str:
        # KeyError shows the representation of its text otherwise.
        return Exception.__str__(self)


class MalformedError(WeighbridgeError, ValueError):
    """The file breaks the rules of its own format, or was changed while it was read."""

    kind = "malformed"


class UnsupportedError(WeighbridgeError, NotImplementedError):
    """The file is fine, but this version cannot do what was asked of it."""

    kind = "unsupported"


class LimitError(WeighbridgeError, ValueError):
    """Going on would cost more than the limits allow."""

    kind = "limit"


class UsageError(WeighbridgeError, ValueError):
    """The call makes no sense: memory of the wrong length, rows that are not there."""

    kind = "usage"


class NoSuchTensorError(WeighbridgeError, KeyError):
    """The model has no weight of that name."""

    kind = "no-such-tensor"


class VerificationError(WeighbridgeError):
    """What was written is not what the source gives; it was deleted. `report` has the details."""

    kind = "verification"
    report: object = None


for _class in (WeighbridgeError, *WeighbridgeError.__subclasses__()):
    # Tracebacks name them as users import them.
    _class.__module__ = "weighbridge"

_CLASSES: dict[str, type[WeighbridgeError]] = {
    "malformed": MalformedError,
    "unsupported": UnsupportedError,
    "limit": LimitError,
    "usage": UsageError,
    "no-such-tensor": NoSuchTensorError,
}


def make(
    kind: str,
    text: str,
    reason: str,
    path: str | None,
    tensor: str | None,
    offset: int | None,
    hint: str | None,
    errno: int | None,
) -> Exception:
    """The exception for an error of the library; called by the native part."""
    error: Exception
    if kind == "io":
        # With a number, the constructor chooses FileNotFoundError, PermissionError and so on.
        if errno is None:
            error = OSError(text)
        else:
            error = OSError(errno, reason, path)
    else:
        error = _CLASSES.get(kind, WeighbridgeError)(text, hint=hint)
    if isinstance(error, WeighbridgeError):
        error.kind = kind
        error.path = path
        error.tensor = tensor
        error.offset = offset
        error.reason = reason
    elif hint is not None:
        error.add_note(f"hint: {hint}")
    return error
