"""torch tensors. torch is imported on first use and never required."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _weighbridge as native
from ._arrays import PACKED, TYPE_NAMES, DTypeLike, wanted_of
from ._errors import UsageError
from ._model import Model, Weight, expressions
from ._open import ModelLike, open
from ._progress import Progress, shown

if TYPE_CHECKING:
    # torch is optional, so its types are not named.
    Tensor = Any

__all__ = ["load_file", "state_dict"]

# torch uses the type names of numpy and ml_dtypes, and has one more.
_TORCH = TYPE_NAMES | {"C32": "complex32"}


def state_dict(
    source: Model | ModelLike,
    *,
    dtype: DTypeLike = None,
    names: Iterable[str] | None = None,
    device: str | int = "cpu",
    progress: Progress = None,
) -> dict[str, Tensor]:
    """Decodes all weights of a model, or those in `names`, for `load_state_dict(.., assign=True)`.
    Each tensor has the weight's own type. `dtype` converts floating-point weights."""
    if isinstance(source, Model):
        return tensors_of(source, dtype, progress, names, device)
    with open(source) as model:
        return tensors_of(model, dtype, progress, names, device)


def load_file(
    filename: ModelLike, device: str | int = "cpu", *, dtype: DTypeLike = None
) -> dict[str, Tensor]:
    """Decodes all weights of a model, with the interface of `safetensors.torch.load_file`."""
    return state_dict(filename, dtype=dtype, device=device)


def tensor_of(
    weight: Weight, dtype: DTypeLike, rows: slice | None, device: str | int
) -> Tensor:
    """A weight, or some rows, as a tensor."""
    wanted = weight._wanted(dtype)
    bounds = None if rows is None else weight._bounds(rows)
    shape = weight.shape
    if bounds is not None:
        shape = (bounds[1] - bounds[0], *shape[1:])
    tensor = _empty(shape, wanted)
    weight._native.read_into(_readable(wanted), bounds, _memory_of(tensor))
    return tensor if device == "cpu" else tensor.to(device)


def tensors_of(
    model: Model,
    dtype: DTypeLike,
    progress: Progress,
    names: Iterable[str] | None,
    device: str | int,
) -> dict[str, Tensor]:
    """Weights of a model as tensors, read in parallel."""
    tensors: dict[str, Tensor] = {}
    requests = []
    for name in dict.fromkeys(model if names is None else expressions(names)):
        weight = model[name]
        wanted = wanted_of(weight.dtype, weight._wanted(None), weight._wanted(dtype))
        tensors[name] = _empty(weight.shape, wanted)
        requests.append((name, _readable(wanted), _memory_of(tensors[name])))
    with shown(progress, "loading") as show:
        native.read_many(model._native, requests, show)
    if device != "cpu":
        return {name: tensor.to(device) for name, tensor in tensors.items()}
    return tensors


def _readable(wanted: str) -> str:
    """The type to decode to. torch has no packed types, and f32 holds their values exactly."""
    return "F32" if wanted in PACKED else wanted


def _empty(shape: tuple[int, ...], wanted: str) -> Tensor:
    import torch  # type: ignore[import-not-found, unused-ignore]

    name = _TORCH.get(_readable(wanted))
    dtype = None if name is None else getattr(torch, name, None)
    if dtype is None:
        raise UsageError(f"this version of torch has no type for {wanted}; use 'f32' or 'bf16'")
    # The CPU fills it, so a default device must not apply.
    tensor = torch.empty(shape, dtype=dtype, device="cpu")
    if type(tensor) is not torch.Tensor:
        raise UsageError("torch is creating tensors without memory (fake tensors), which cannot be filled")
    return tensor


def _memory_of(tensor: Tensor) -> Any:
    """The memory of a new tensor as bytes, without numpy and for every type."""
    bytes_held = tensor.numel() * tensor.element_size()
    if bytes_held == 0:
        return bytearray()
    lend = ctypes.pythonapi.PyMemoryView_FromMemory
    lend.restype = ctypes.py_object
    lend.argtypes = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)
    writable = 0x200
    return lend(tensor.data_ptr(), bytes_held, writable)
