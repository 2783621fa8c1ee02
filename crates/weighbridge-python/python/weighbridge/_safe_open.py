"""`safe_open` with the interface of safetensors, for every container and scheme."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any, Literal, Self

from ._arrays import DTypeLike, dtype_name, wanted_of
from ._errors import UsageError
from ._model import Model, Weight
from ._open import ModelLike, open
from ._progress import Progress

Framework = Literal["np", "numpy", "pt", "torch", "jax", "flax", "mlx"]


class safe_open:  # noqa: N801 - it is called what safetensors calls it.
    """Opens a model lazily, with the methods of `safetensors.safe_open`. It takes everything that
    `open` takes, and decodes quantized weights.

    >>> import weighbridge as wb
    >>> with wb.safe_open("samples/tiny-llama-gptq", framework="np") as f:
    ...     f.get_slice("model.layers.0.mlp.up_proj.weight")[:2].shape
    (2, 64)
    """

    def __init__(
        self,
        filename: ModelLike,
        framework: Framework,
        device: str | int = "cpu",
        *,
        backend: Literal["mmap", "pread"] = "pread",
        dtype: DTypeLike = None,
    ) -> None:
        if framework not in ("np", "numpy", "pt", "torch", "jax", "flax", "mlx"):
            raise UsageError(f"framework {framework!r} is unknown; use np, pt, jax or mlx")
        if device != "cpu" and framework not in ("pt", "torch"):
            raise UsageError(f"device {device!r} needs framework pt: the others decode on the CPU")
        if backend not in ("mmap", "pread"):
            raise UsageError(f"backend {backend!r} is unknown; use mmap or pread")
        if dtype is not None and dtype != "auto":
            dtype = dtype_name(dtype)
        self._framework, self._device, self._dtype = framework, device, dtype
        self._model = open(filename, mmap=backend == "mmap")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._model.close()

    def keys(self) -> list[str]:
        """The names of the weights, sorted."""
        return sorted(self._model)

    def offset_keys(self) -> list[str]:
        """The names of the weights, in file order."""
        files: dict[str, int] = {}

        def place(name: str) -> tuple[int, int]:
            first = self._model[name].parts[0]
            return files.setdefault(first.file, len(files)), first.offset or 0

        return sorted(self._model, key=place)

    def metadata(self) -> dict[str, str] | None:
        """The metadata as text, or `None`."""
        found = {key: value for key, value in self._model.metadata.items()}
        return {key: _text(value) for key, value in found.items()} or None

    def get_tensor(self, name: str) -> Any:
        """One weight, decoded."""
        return _made(self._model[name], self._framework, self._device, self._dtype, None)

    def get_tensors(self) -> dict[str, Any]:
        """All weights, decoded."""
        return load_all(self._model, self._framework, self._device, self._dtype, None)

    def get_slice(self, name: str) -> PySafeSlice:
        """A handle to one weight; indexing reads only the selected rows."""
        return PySafeSlice(self._model[name], self._framework, self._device, self._dtype)


class PySafeSlice:
    """A handle to one weight; indexing reads rows."""

    def __init__(
        self, weight: Weight, framework: Framework, device: str | int, dtype: DTypeLike
    ) -> None:
        self._weight, self._framework, self._device = weight, framework, device
        self._dtype = dtype

    def get_shape(self) -> list[int]:
        """Its shape."""
        return list(self._weight.shape)

    def get_dtype(self) -> str:
        """The type it is decoded to, in safetensors spelling."""
        return self._weight.dtype if self._dtype is None else _wanted(self._weight, self._dtype)

    def __getitem__(self, key: Any) -> Any:
        first, rest = (key[0], key[1:]) if isinstance(key, tuple) and key else (key, ())
        if isinstance(first, slice) and first.step in (None, 1) and self._weight.ndim > 0:
            rows = _made(self._weight, self._framework, self._device, self._dtype, first)
            return rows[(slice(None), *rest)] if rest else rows
        if isinstance(first, int) and not isinstance(first, bool) and self._weight.ndim > 0:
            count = self._weight.shape[0]
            row = first + count if first < 0 else first
            if not 0 <= row < count:
                raise IndexError(f"row {first} is out of range: {self._weight.name} has {count} rows")
            one = slice(row, row + 1)
            return _made(self._weight, self._framework, self._device, self._dtype, one)[(0, *rest)]
        return _made(self._weight, self._framework, self._device, self._dtype, None)[key]


def _wanted(weight: Weight, dtype: DTypeLike) -> str:
    """The type that a weight is read as; `dtype` applies to floating-point weights only."""
    return wanted_of(weight.dtype, weight._wanted(None), weight._wanted(dtype))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _made(
    weight: Weight, framework: Framework, device: str | int, dtype: DTypeLike, rows: slice | None
) -> Any:
    """A weight, or some rows, as an array of the framework."""
    dtype = None if dtype is None else _wanted(weight, dtype)
    if framework in ("np", "numpy"):
        return weight.numpy(dtype) if rows is None else weight.read(rows=rows, dtype=dtype)
    if framework in ("pt", "torch"):
        from . import torch

        return torch.tensor_of(weight, dtype, rows, device)
    tensor = weight.tensor(dtype, rows=rows)
    if framework == "mlx":
        import mlx.core as mx  # type: ignore[import-not-found, unused-ignore]

        return mx.array(tensor)
    import jax  # type: ignore[import-not-found, unused-ignore]

    return jax.dlpack.from_dlpack(tensor)


def load_all(
    model: Model,
    framework: Framework,
    device: str | int,
    dtype: DTypeLike,
    progress: Progress,
    names: Iterable[str] | None = None,
) -> dict[str, Any]:
    """All weights, or some, as arrays of the framework."""
    if framework in ("np", "numpy"):
        from . import numpy

        return numpy.arrays_of(model, dtype, progress, names)
    if framework in ("pt", "torch"):
        from . import torch

        return torch.tensors_of(model, dtype, progress, names, device)
    wanted = list(model) if names is None else list(names)
    return {name: _made(model[name], framework, device, dtype, None) for name in wanted}
