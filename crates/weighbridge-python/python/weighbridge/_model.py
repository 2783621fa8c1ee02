"""Models and weights."""

from __future__ import annotations

import json
import operator
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, cast, overload

from . import _html
from . import _weighbridge as native
from ._arrays import PACKED, DTypeLike, bytes_of, dtype_name, empty, numpy_dtype
from ._errors import MalformedError, NoSuchTensorError, UnsupportedError, UsageError
from ._progress import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._reports import InspectProblem, InspectReport

_Default = TypeVar("_Default")

#: How a model was opened: its path or address, and the options.
Opened = tuple[str, dict[str, Any]]
#: A file of it: its path, its bytes, its time, and what else tells its version.
FileState = tuple[str, int, int | None, str | None]

#: Why a model cannot be pickled.
NOT_BY_PATH = (
    "a model opened from bytes or a file object cannot be pickled: another process cannot open it; "
    "open it by its path"
)
SECRET = (
    "a model whose address has a query or a password cannot be pickled: they may be secret; "
    "open it in the other process"
)


class Part(NamedTuple):
    """A stored tensor of a weight."""

    name: str
    role: str
    dtype: str
    shape: tuple[int, ...]
    file: str
    #: Bytes from the start of the file; `None` if the data is not contiguous there.
    offset: int | None
    nbytes: int


class Metadata(Mapping[str, Any]):
    """The metadata of a model's files. Each value is read on access."""

    def __init__(self, model: native.Model) -> None:
        self._model = model
        self._keys = dict.fromkeys(model.metadata_keys())

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return self._model.metadata_value(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"<Metadata: {len(self)} entries>"


class Model(Mapping[str, "Weight"]):
    """A model: a mapping from names to weights, in file order.

    `open` returns it. Threads may share a model.
    """

    def __init__(self, opened: native.Model, remembered: Opened | str) -> None:
        self._native = opened
        self._opened = remembered
        self._metadata: Metadata | None = None

    @property
    def path(self) -> str:
        """The path or address it was opened from."""
        return self._native.path

    @property
    def format(self) -> str:
        """The format of its files: `safetensors`, `gguf`, .."""
        return self._native.format

    @property
    def metadata(self) -> Metadata:
        """The metadata of its files, as a mapping."""
        if self._metadata is None:
            self._metadata = Metadata(self._native)
        return self._metadata

    @property
    def problems(self) -> list[InspectProblem]:
        """The problems of its files; empty if there are none."""
        return self.report()["problems"]

    def report(
        self,
        *,
        tensors: bool = False,
        full_metadata: bool = False,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> InspectReport:
        """The report of `weigh inspect --json`. `tensors` adds the list of weights and their parts."""
        text = self._native.report(tensors, full_metadata, expressions(include), expressions(exclude))
        return cast("InspectReport", json.loads(text))

    def close(self) -> None:
        """Closes the files. Arrays and views stay valid."""
        self._native.close()

    @property
    def closed(self) -> bool:
        """Whether the model is closed."""
        return self._native.closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __getitem__(self, name: str) -> Weight:
        if not isinstance(name, str):
            raise TypeError(f"weights are looked up by name, not by {name!r}")
        if _is_no_text(name):
            raise NoSuchTensorError(f"{self.path}: no weight can be named {name!r}")
        return Weight(self, self._native.weight(name))

    @overload
    def get(self, name: str, /) -> Weight | None: ...
    @overload
    def get(self, name: str, /, default: _Default) -> Weight | _Default: ...
    def get(self, name: str, /, default: Any = None) -> Any:
        """The weight of that name, or `default`."""
        # Without the search for close names that an error makes.
        return self[name] if name in self else default

    def state_dict(
        self,
        *,
        dtype: DTypeLike = None,
        names: Iterable[str] | None = None,
        device: str | int = "cpu",
        progress: Progress = None,
    ) -> dict[str, Any]:
        """Decodes all weights, or those in `names`, to torch tensors for `load_state_dict`.

        Each tensor has the weight's own type. `dtype` converts floating-point weights.
        """
        from .torch import tensors_of

        return tensors_of(self, dtype, progress, names, device)

    def _ipython_key_completions_(self) -> list[str]:
        """The names that IPython and Jupyter complete after `model["`."""
        return [] if self.closed else list(self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and not _is_no_text(name) and name in self._native

    def __iter__(self) -> Iterator[str]:
        return iter(self._native.names())

    def __len__(self) -> int:
        return len(self._native)

    # A mapping would compare all weights. Two handles are equal only if they are the same object.
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self._opened, str):
            raise TypeError(self._opened)
        return _reopened, (*self._opened, self._native.files)

    def __repr__(self) -> str:
        if self.closed:
            return f"<Model {_html.printable(self.path)}: closed>"
        return _html.model_line(self.report())

    def _repr_html_(self) -> str:
        if self.closed:
            return _html.escape(repr(self))
        return _html.model(self.report())


def _is_no_text(name: str) -> bool:
    """Whether it has a lone surrogate. Python's file names may; names in model files cannot."""
    return not name.isascii() and any("\ud800" <= letter <= "\udfff" for letter in name)


def expressions(given: Iterable[str]) -> list[str]:
    """A list of expressions. A single string is one expression, not a list of letters."""
    return [given] if isinstance(given, str) else list(given)


def _reopened(path: str, wishes: dict[str, Any], files: list[FileState]) -> Model:
    """Reopens a pickled model; an error if its files have changed."""
    model = Model(native.open_path(path, wishes), (path, wishes))
    # By file name only: the other process may have another working directory.
    now = [(os.path.basename(file), *about) for file, *about in model._native.files]
    for file, *about in files:
        if (os.path.basename(file), *about) not in now:
            commit = about[-1] if path.startswith("hf://") else None
            hint = f"to pin that version, append @{commit} to the repository in the address"
            error = MalformedError(
                f"{file}: changed since the model was pickled", hint=hint if commit else None
            )
            error.path = file
            raise error
    return model


class Weight:
    """A handle to one weight. It reads no data until you ask for values."""

    def __init__(self, model: Model, opened: native.Weight) -> None:
        self._model = model
        self._native = opened

    @property
    def model(self) -> Model:
        """The model it belongs to."""
        return self._model

    @property
    def name(self) -> str:
        """Its name."""
        return self._native.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Its logical shape, outermost dimension first in every format."""
        return tuple(self._native.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._native.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for side in self._native.shape:
            size *= side
        return size

    @property
    def dtype(self) -> str:
        """The type that the scheme's own library decodes to, in safetensors spelling: `BF16`, .."""
        return self._native.dtype or self.variant

    @property
    def scheme(self) -> str:
        """The quantization scheme: `plain`, `gptq`, .."""
        return self._native.scheme

    @property
    def variant(self) -> str:
        """The variant of the scheme; for a plain weight, its stored type."""
        return self._native.variant

    @property
    def parts(self) -> list[Part]:
        """The stored tensors that encode it."""
        return [
            Part(name, role, dtype, tuple(shape), file, offset, nbytes)
            for name, role, dtype, shape, file, offset, nbytes in self._native.parts()
        ]

    @property
    def nbytes(self) -> int:
        """Its stored size in bytes, including scales."""
        return self._native.stored_bytes

    @property
    def undecodable(self) -> str | None:
        """Why it cannot be decoded, or `None`."""
        return self._native.undecodable

    def stored_bytes(self, part: int | str = 0) -> bytes:
        """The raw bytes of one part, selected by position, role or name."""
        if isinstance(part, str):
            for index, one in enumerate(self.parts):
                if part in (one.role, one.name):
                    return self._native.stored(index)
            raise UsageError(f"{self.name} has no part {part!r}")
        return self._native.stored(part)

    def numpy(self, dtype: DTypeLike = None) -> NDArray[Any]:
        """Decodes the whole weight to a new array, in its own type or in `dtype`.

        >>> import weighbridge as wb
        >>> model = wb.open("samples/tiny-llama-gptq")
        >>> model["model.layers.0.mlp.up_proj.weight"].numpy("f32")[0, :4]
        array([ 0.02519989,  0.        ,  0.00839996, -0.05039978], dtype=float32)
        """
        return self._array(self._wanted(dtype), None)

    def read(
        self, *, out: Any = None, rows: slice | None = None, dtype: DTypeLike = None
    ) -> Any:
        """Reads all rows, or some, into `out` and returns it. Without `out` it returns a new array.

        `out` is a numpy array or any object with a writable buffer. An array sets the type, and
        `dtype` must not contradict it. Untyped bytes take `dtype`, or the weight's own type.
        """
        bounds = None if rows is None else self._bounds(rows)
        if out is None:
            return self._array(self._wanted(dtype), bounds)
        memory, found = _memory_of(out)
        wanted = self._wanted(dtype if dtype is not None else found)
        if dtype is not None and found is not None and dtype_name(found) != wanted:
            raise UsageError(f"out has type {found}, but dtype is {wanted}")
        self._refuse_other_shape(out, bounds)
        self._native.read_into(wanted, bounds, memory)
        return out

    def __getitem__(self, key: Any) -> NDArray[Any]:
        """Decodes only the selected rows to a new array. numpy applies further indexes."""
        first, rest = (key[0], key[1:]) if isinstance(key, tuple) and key else (key, ())
        if isinstance(first, slice) and self.ndim > 0:
            start, stop, step = first.indices(self.shape[0])
            count = len(range(start, stop, step))
            low, high = (start, stop) if step > 0 else (stop + 1, start + 1)
            rows = self._array(self._wanted(None), (low, high) if count else (0, 0))
            rows = rows[::step] if step != 1 else rows
            return rows[(slice(None), *rest)] if rest else rows
        row = _row_of(first) if self.ndim > 0 else None
        if row is not None:
            row += self.shape[0] if row < 0 else 0
            if not 0 <= row < self.shape[0]:
                raise IndexError(f"row {first} is out of range: {self.name} has {self.shape[0]} rows")
            return cast("NDArray[Any]", self._array(self._wanted(None), (row, row + 1))[(0, *rest)])
        return cast("NDArray[Any]", self.numpy()[key])

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("a weight with no dimensions has no length")
        return self.shape[0]

    # Yields rows. Without it Python would iterate by index until an IndexError.
    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[row] for row in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("copy=False is not possible: values are decoded into new memory")
        if dtype is None:
            return self.numpy()
        try:
            wanted = dtype_name(dtype)
        except UsageError:
            wanted = ""
        own = self._wanted(None)
        if wanted in ("F32", "BF16", "F16", own):
            return self.numpy(dtype)
        return self.numpy().astype(dtype)

    def tensor(self, dtype: DTypeLike = None, *, rows: slice | None = None) -> native.Tensor:
        """Decodes into new memory that supports DLPack and the buffer protocol. Needs no numpy."""
        bounds = None if rows is None else self._bounds(rows)
        return self._native.tensor(self._wanted(dtype), bounds)

    def torch(
        self, dtype: DTypeLike = None, *, rows: slice | None = None, device: str | int = "cpu"
    ) -> Any:
        """Decodes the weight, or some rows, to a new torch tensor."""
        from .torch import tensor_of

        return tensor_of(self, dtype, rows, device)

    def view(self) -> native.Tensor:
        """Its bytes in place, read-only and without a copy. The weight must be plain, and the model
        opened with `mmap=True` or from bytes."""
        view = self._native.view()
        if view is None:
            raise UsageError(
                f"{self.name}: its bytes cannot be viewed in place",
                hint="view() needs a plain weight and open(path, mmap=True); numpy() and tensor() decode",
            )
        return view

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        if copy is False:
            raise BufferError("copy=False is not possible: values are decoded into new memory")
        tensor = self.tensor()
        return tensor.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __reduce__(self) -> tuple[Any, ...]:
        return _weight_of, (self._model, self.name)

    def __repr__(self) -> str:
        return _html.weight_line(self)

    def _repr_html_(self) -> str:
        return _html.weight(self)

    def _wanted(self, dtype: DTypeLike) -> str:
        """The type to read as."""
        own = self._native.dtype
        if dtype is None or (isinstance(dtype, str) and dtype == "auto"):
            if own is None:
                self._refuse()
            if dtype is None or self.scheme == "plain" or own in ("BF16", "F16"):
                return own or "F32"
            return "BF16"
        return dtype_name(dtype)

    def _refuse(self) -> None:
        reason = self.undecodable or f"it is stored as {self.variant}"
        error = UnsupportedError(f"{self._model.path}: tensor `{self.name}`: {reason}")
        error.path, error.tensor, error.reason = self._model.path, self.name, reason
        raise error

    def _bounds(self, rows: slice) -> tuple[int, int]:
        if self.ndim == 0:
            raise UsageError(f"{self.name} has no rows")
        if not isinstance(rows, slice):
            raise TypeError(f"rows must be a slice, not {type(rows).__name__}")
        start, stop, step = rows.indices(self.shape[0])
        if step != 1:
            raise UsageError("rows takes no step: they are read in order")
        return start, max(start, stop)

    def _refuse_other_shape(self, out: Any, rows: tuple[int, int] | None) -> None:
        """An error if `out` has several dimensions and another shape: its indexes would be wrong."""
        found = tuple(getattr(out, "shape", ()))
        shape = self.shape if rows is None else (rows[1] - rows[0], *self.shape[1:])
        if len(found) > 1 and found != shape:
            raise UsageError(
                f"out has shape {found}, but {self.name} has {shape}",
                hint="pass out.reshape(-1) to fill it regardless of its shape",
            )

    def _array(self, dtype: str, rows: tuple[int, int] | None) -> NDArray[Any]:
        shape = self.shape if rows is None else (rows[1] - rows[0], *self.shape[1:])
        if dtype in PACKED:
            # Several values share a byte in the file and get one each here. f32 holds all of them exactly.
            target = numpy_dtype(dtype)
            return self._array("F32", rows).astype(target)
        array = empty(shape, dtype)
        self._native.read_into(dtype, rows, bytes_of(array))
        return array


def _weight_of(model: Model, name: str) -> Weight:
    return model[name]


def _row_of(key: Any) -> int | None:
    """The row of an integer index; `None` for arrays of indexes and masks."""
    if isinstance(key, bool):
        return None
    try:
        return operator.index(key)
    except TypeError:
        return None


def _memory_of(out: Any) -> tuple[Any, Any]:
    """The memory of `out` as bytes, and its type if it has one."""
    interface = getattr(out, "__array_interface__", None)
    if interface is not None and hasattr(out, "flags"):
        if not out.flags.c_contiguous:
            raise UsageError("out is not C-contiguous")
        if not out.flags.writeable:
            raise UsageError("out is read-only")
        if not out.dtype.isnative:
            raise UsageError("out does not have native byte order")
        return bytes_of(out), out.dtype
    view = memoryview(out)
    if view.readonly:
        raise UsageError("out is read-only")
    if not view.c_contiguous:
        raise UsageError("out is not C-contiguous")
    # An empty memoryview cannot be cast.
    return view.cast("B") if view.nbytes else bytearray(), _type_of(view)


def _type_of(view: memoryview) -> str | None:
    """The element type of a buffer; `None` if it is untyped bytes."""
    kind = view.format.removeprefix("@").removeprefix("<" if sys.byteorder == "little" else ">")
    if kind in ("B", "b", "c"):
        return None
    if kind == "?":
        return "BOOL"
    families = {"efd": "F", "hilqn": "I", "HILQN": "U"}
    for letters, family in families.items():
        if kind in letters:
            return f"{family}{8 * view.itemsize}"
    raise UsageError(f"out has elements of format {view.format!r}, which weights cannot be read as")
