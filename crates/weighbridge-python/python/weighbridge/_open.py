"""Opens models from paths, addresses, bytes and file objects."""

from __future__ import annotations

import io
import math
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypedDict

from . import _weighbridge as native
from ._address import holds_secrets, is_address, location
from ._errors import UsageError
from ._model import NOT_BY_PATH, SECRET, Model, Opened


class BinaryFile(Protocol):
    """A binary file object with `read` and `seek`."""

    def read(self, size: int, /) -> bytes: ...
    def seek(self, offset: int, whence: int, /) -> int | None: ...


StrPath = str | os.PathLike[str]
#: Anything that `open` takes: a path, a name, an address, bytes, or a binary file object.
ModelLike = StrPath | bytes | bytearray | memoryview | BinaryFile
#: Rules: a regular expression for names, and the value for names that match. The first match wins.
Rules = Mapping[str, str] | Iterable[tuple[str, str]]


class Limits(TypedDict, total=False):
    """Limits on the cost of opening a model."""

    max_allocation: int
    max_total: int
    max_items: int
    max_depth: int
    max_ratio: int
    max_pickle_steps: int


def pairs(rules: Rules | None, argument: str) -> list[tuple[str, str]]:
    """Rules as a list of pairs. An error names the argument."""
    given: Any = {} if rules is None else rules
    listed = list(given.items() if isinstance(given, Mapping) else given)
    for rule in listed:
        is_pair = isinstance(rule, (tuple, list)) and len(rule) == 2
        if not is_pair or not all(isinstance(one, str) for one in rule):
            raise TypeError(f"{argument} must be a mapping or pairs of text, and {rule!r} is not a pair")
    return [tuple(rule) for rule in listed]


def open(
    source: ModelLike,
    *,
    name: str | None = None,
    mmap: bool = False,
    root: str | None = None,
    strict_pickle: bool = False,
    scheme: Rules | None = None,
    limits: Limits | None = None,
    allow_http: bool = False,
    ca_file: StrPath | None = None,
    timeout: float | None = None,
    min_speed: int | None = None,
    retries: int | None = None,
    max_wait: float | None = None,
) -> Model:
    """Opens a model and reads only its headers.

    `source` is a file, a directory of shards, an index, a name in a local store, an address
    (`hf://owner/name`, `https://..`, `s3://..`, `gs://..`, `az://..`), bytes, or a binary file object.

    >>> import weighbridge as wb
    >>> with wb.open("samples/tiny-llama-gptq") as model:
    ...     print(model)
    ...     print(model["model.layers.0.mlp.up_proj.weight"])
    <Model samples/tiny-llama-gptq: safetensors, 21 weights, 107.8 K parameters, 8.53 bits per weight>
    <Weight model.layers.0.mlp.up_proj.weight: [128, 64] F16, gptq/4bit-g32>

    - `name`: replaces the path in messages for bytes and file objects.
    - `mmap`: maps files into memory, which `Weight.view` needs. If another program truncates a
      mapped file, the process dies.
    - `root`: opens one branch of a nested checkpoint.
    - `strict_pickle`: rejects pickles that name anything outside the known set.
    - `scheme`: resolves how weights are stored in an ambiguous file: `{"mlp": "gptq/4bit-g128"}`.
    - `limits`: bounds the cost of opening.

    Options for addresses:

    - `allow_http`: also reads `http://` addresses on other machines. Anyone on the network can read
      and change that traffic.
    - `ca_file`: PEM file of certificates to trust in addition to the system's.
    - `timeout`: read timeout in seconds (30).
    - `min_speed`: lowest speed of a server in bytes per second; 0 for any (1024).
    - `retries`: retries for transient failures (5).
    - `max_wait`: longest wait for a server in seconds (300).
    """
    wishes = _wishes(locals())
    opened = _opened(source, name, wishes)
    return Model(opened, _remembered(source, opened.path, wishes))


def open_all(
    path: StrPath,
    *,
    mmap: bool = False,
    root: str | None = None,
    strict_pickle: bool = False,
    scheme: Rules | None = None,
    limits: Limits | None = None,
    allow_http: bool = False,
    ca_file: StrPath | None = None,
    timeout: float | None = None,
    min_speed: int | None = None,
    retries: int | None = None,
    max_wait: float | None = None,
) -> list[Model]:
    """Opens every model in a place: one model, or each component of a pipeline."""
    wishes = _wishes(locals())
    place = location(path)
    models = native.open_paths(place, wishes)
    if len(models) == 1:
        return [Model(models[0], _remembered(place, models[0].path, wishes))]
    return [Model(model, _remembered(model.path, model.path, wishes)) for model in models]


def _wishes(given: dict[str, Any]) -> dict[str, Any]:
    """The options of opening, by argument name."""
    for argument in ("mmap", "strict_pickle", "allow_http"):
        if not isinstance(given[argument], bool):
            raise TypeError(f"{argument} must be True or False, not {given[argument]!r}")
    root, ca_file = given["root"], given["ca_file"]
    if not (root is None or isinstance(root, str)):
        raise TypeError(f"root must be a string, not {root!r}")
    if not (ca_file is None or isinstance(ca_file, (str, os.PathLike))):
        raise TypeError(f"ca_file must be a path, not {ca_file!r}")
    for argument, bits in (("retries", 32), ("min_speed", 64)):
        _check_integer(given[argument], argument, (1 << bits) - 1)
    plain = {
        "scheme": pairs(given["scheme"], "scheme"),
        "limits": _checked(given["limits"]),
        "ca_file": None if ca_file is None else os.fsdecode(ca_file),
        "timeout": _seconds(given["timeout"], "timeout"),
        "max_wait": _seconds(given["max_wait"], "max_wait"),
    }
    others = ("source", "path", "name")
    return {key: value for key, value in (given | plain).items() if key not in others}


def _check_integer(number: Any, argument: str, most: int) -> None:
    if number is None:
        return
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise TypeError(f"{argument} must be an integer, not {number!r}")
    if not 0 <= number <= most:
        raise UsageError(f"{argument} must be between 0 and {most}, not {number}")


def _seconds(time: float | None, argument: str) -> float | None:
    if time is None:
        return None
    if isinstance(time, bool) or not hasattr(time, "__float__"):
        raise TypeError(f"{argument} must be a number of seconds, not {time!r}")
    time = float(time)
    if not (math.isfinite(time) and 0 < time <= 1e9):
        raise UsageError(f"{argument} must be a number of seconds above 0, not {time}")
    return time


def _checked(limits: Limits | None) -> dict[str, int]:
    """The limits, checked to be integers in range."""
    checked: dict[str, Any] = dict(limits or {})
    for limit, value in checked.items():
        most = 1 << (32 if limit == "max_depth" else 64)
        if not hasattr(value, "__index__") or isinstance(value, bool):
            raise TypeError(f"the limit {limit} must be an integer, not {value!r}")
        if not 0 <= value < most:
            raise UsageError(f"the limit {limit} must be between 0 and {most - 1}, not {value}")
    return checked


def _opened(source: object, name: str | None, wishes: dict[str, Any]) -> native.Model:
    if isinstance(source, (str, os.PathLike)):
        return native.open_path(location(source), wishes)
    if not (name is None or isinstance(name, str)):
        raise TypeError(f"name must be a string, not {name!r}")
    if isinstance(source, (bytes, bytearray, memoryview)):
        view = source if isinstance(source, bytes) else memoryview(source)
        if isinstance(view, memoryview):
            if not view.c_contiguous:
                raise UsageError("the buffer is not C-contiguous")
            view = view.cast("B")
        return native.open_buffer(view, name or "bytes", wishes)
    if hasattr(source, "read") and hasattr(source, "seek"):
        return _opened_file(source, name, wishes)
    raise TypeError(
        f"cannot open {type(source).__name__}: use a path, an address, bytes or a binary file object"
    )


def _opened_file(source: Any, name: str | None, wishes: dict[str, Any]) -> native.Model:
    if isinstance(source, io.TextIOBase):
        raise TypeError("the file is open in text mode; open it with mode 'rb'")
    named = getattr(source, "name", None)
    shown = name or (named if isinstance(named, str) else "file object")
    # File names need not be valid Unicode.
    shown = shown.encode(errors="replace").decode()
    if sys.platform != "win32" and _is_plain_file(source):
        if source.writable():
            source.flush()
        if not source.seekable():
            raise UsageError(
                f"{shown}: a pipe cannot be read by position",
                hint="open the bytes: open(file.read())",
            )
        return native.open_descriptor(source.fileno(), shown, wishes)
    return native.open_file_object(source, shown, wishes)


def _is_plain_file(source: Any) -> bool:
    """Whether it reads the bytes of its descriptor unchanged; a gzip file does not."""
    if isinstance(source, (io.BufferedReader, io.BufferedRandom)):
        source = source.raw
    return type(source) is io.FileIO


def _remembered(source: object, opened: str, wishes: dict[str, Any]) -> Opened | str:
    """The arguments that reopen the model in another process, or the reason why that is impossible.
    `opened` is the model's own path."""
    if not isinstance(source, (str, os.PathLike)):
        return NOT_BY_PATH
    path = os.fsdecode(source)
    if os.path.exists(path):
        return os.path.abspath(path), wishes
    if not is_address(path):
        return path, wishes
    if opened.startswith("hf://"):
        # URLs of Hub pages may have queries that do not matter.
        path = opened
    if holds_secrets(path):
        return SECRET
    if wishes["ca_file"] is not None:
        wishes = wishes | {"ca_file": os.path.abspath(wishes["ca_file"])}
    return path, wishes
