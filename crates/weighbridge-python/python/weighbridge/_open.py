"""Opening models, whatever they are given as."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypedDict

from . import _weighbridge as native
from ._errors import UsageError
from ._model import Model, Opened


class BinaryFile(Protocol):
    """A file object: anything that reads and seeks."""

    def read(self, size: int, /) -> bytes: ...
    def seek(self, offset: int, whence: int, /) -> int | None: ...


StrPath = str | os.PathLike[str]
#: What a model can be opened from: a path or a name, bytes, or an open file.
ModelLike = StrPath | bytes | bytearray | memoryview | BinaryFile
#: Rules: an expression for names, and what is meant for those that match; the first counts.
Rules = Mapping[str, str] | Iterable[tuple[str, str]]


class Limits(TypedDict, total=False):
    """What opening a model may cost."""

    max_allocation: int
    max_total: int
    max_items: int
    max_depth: int
    max_ratio: int
    max_pickle_steps: int


def pairs(rules: Rules | None, argument: str) -> list[tuple[str, str]]:
    """Rules in their order; an error names the argument that they were given as."""
    given: Any = {} if rules is None else rules
    listed = list(given.items() if isinstance(given, Mapping) else given)
    for rule in listed:
        is_pair = isinstance(rule, (tuple, list)) and len(rule) == 2
        if not is_pair or not all(isinstance(one, str) for one in rule):
            raise TypeError(f"{argument} is a mapping or pairs of text; {rule!r} is no such pair")
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
) -> Model:
    """Opens a model: a file, a directory of shards, an index, a name in a local store, bytes, or a
    binary file object. Only its headers are read.

    >>> import weighbridge as wb
    >>> with wb.open("samples/tiny-llama-gptq") as model:
    ...     print(model)
    ...     print(model["model.layers.0.mlp.up_proj.weight"])
    <Model samples/tiny-llama-gptq: safetensors, 21 weights, 107.8 K parameters, 8.53 bits per weight>
    <Weight model.layers.0.mlp.up_proj.weight: [128, 64] F16, gptq/4bit-g32>

    `name` stands in for a path in messages where the model is given as bytes. Files are read by
    position; with `mmap` they are mapped, which `Weight.view` needs, but a file that another program
    shortens meanwhile ends the process. `root` takes one branch of a nested checkpoint,
    `strict_pickle` refuses pickles that name anything outside the known set, `scheme` says how
    weights are stored where the file leaves that open (`{"mlp": "gptq/4bit-g128"}`), and `limits`
    bounds what opening may cost.
    """
    wishes = _wishes(mmap, root, strict_pickle, scheme, limits)
    return Model(_opened(source, name, wishes), _remembered(source, wishes))


def open_all(
    path: StrPath,
    *,
    mmap: bool = False,
    root: str | None = None,
    strict_pickle: bool = False,
    scheme: Rules | None = None,
    limits: Limits | None = None,
) -> list[Model]:
    """Opens everything at a place: the one model, or each component of a pipeline."""
    wishes = _wishes(mmap, root, strict_pickle, scheme, limits)
    models = native.open_paths(os.fsdecode(path), wishes)
    return [Model(model, _remembered(model.path, wishes)) for model in models]


def _wishes(
    mmap: bool,
    root: str | None,
    strict_pickle: bool,
    scheme: Rules | None,
    limits: Limits | None,
) -> dict[str, Any]:
    for argument, value in (("mmap", mmap), ("strict_pickle", strict_pickle)):
        if not isinstance(value, bool):
            raise TypeError(f"{argument} is True or False, not {value!r}")
    if not (root is None or isinstance(root, str)):
        raise TypeError(f"root is text, not {root!r}")
    return {
        "mmap": mmap,
        "root": root,
        "strict_pickle": strict_pickle,
        "scheme": pairs(scheme, "scheme"),
        "limits": _checked(limits),
    }


def _checked(limits: Limits | None) -> dict[str, int]:
    """Limits that are numbers."""
    checked: dict[str, Any] = dict(limits or {})
    for limit, value in checked.items():
        most = 1 << (32 if limit == "max_depth" else 64)
        if not hasattr(value, "__index__") or isinstance(value, bool):
            raise TypeError(f"the limit {limit} is a whole number, not {value!r}")
        if not 0 <= value < most:
            raise UsageError(f"the limit {limit} is between 0 and {most - 1}, not {value}")
    return checked


def _opened(source: object, name: str | None, wishes: dict[str, Any]) -> native.Model:
    if isinstance(source, (str, os.PathLike)):
        return native.open_path(os.fsdecode(source), wishes)
    if not (name is None or isinstance(name, str)):
        raise TypeError(f"name is text, not {name!r}")
    if isinstance(source, (bytes, bytearray, memoryview)):
        view = source if isinstance(source, bytes) else memoryview(source)
        if isinstance(view, memoryview):
            if not view.c_contiguous:
                raise UsageError("the bytes do not lie in one piece")
            view = view.cast("B")
        return native.open_buffer(view, name or "bytes", wishes)
    if hasattr(source, "read") and hasattr(source, "seek"):
        return _opened_file(source, name, wishes)
    raise TypeError(
        f"a model is a path, bytes or a binary file object, not {type(source).__name__}"
    )


def _opened_file(source: Any, name: str | None, wishes: dict[str, Any]) -> native.Model:
    if isinstance(source, io.TextIOBase):
        raise TypeError("the file is open as text; open it with mode 'rb'")
    named = getattr(source, "name", None)
    shown = name or (named if isinstance(named, str) else "file object")
    # Names of files need not be text.
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
    """Whether it reads the very bytes that its descriptor leads to; those of gzip do not."""
    if isinstance(source, (io.BufferedReader, io.BufferedRandom)):
        source = source.raw
    return type(source) is io.FileIO


def _remembered(source: object, wishes: dict[str, Any]) -> Opened | None:
    """How another process opens the same; `None` if it cannot."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = os.fsdecode(source)
    return (os.path.abspath(path) if os.path.exists(path) else path, wishes)
