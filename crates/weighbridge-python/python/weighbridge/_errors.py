"""The exceptions."""

from __future__ import annotations


class WeighbridgeError(Exception):
    """The base class of all errors about models.

    `path`, `tensor` and `offset` say where it happened, if known. `reason` is the message without
    them, `hint` says what to do, and `kind` is a stable word.
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
        # KeyError would show the repr of its text.
        return Exception.__str__(self)


class MalformedError(WeighbridgeError, ValueError):
    """The file violates its format, is truncated, or changed while it was read."""

    kind = "malformed"


class UnsupportedError(WeighbridgeError, NotImplementedError):
    """The file is valid, but this version cannot handle it."""

    kind = "unsupported"


class LimitError(WeighbridgeError, ValueError):
    """Opening would exceed a limit."""

    kind = "limit"


class UsageError(WeighbridgeError, ValueError):
    """The call is invalid: memory of the wrong length, an existing output, a closed model."""

    kind = "usage"


class NoSuchTensorError(WeighbridgeError, KeyError):
    """No weight has that name. The hint lists close names."""

    kind = "no-such-tensor"


class VerificationError(WeighbridgeError):
    """The output did not match its source and was deleted. `report` has the details."""

    kind = "verification"
    report: object = None


for _class in (WeighbridgeError, *WeighbridgeError.__subclasses__()):
    # Tracebacks show the name that users import.
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
    """Creates the exception for an error of the library. The native part calls it."""
    error: Exception
    if kind == "io":
        # With an errno, the constructor selects FileNotFoundError, PermissionError and so on.
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
