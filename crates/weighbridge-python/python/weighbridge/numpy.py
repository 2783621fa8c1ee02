"""numpy arrays, with the functions of `safetensors.numpy`. They open everything that `open` takes,
and decode quantized weights."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import _weighbridge as native
from ._arrays import PACKED, DTypeLike, bytes_of, dtype_name, empty, wanted_of
from ._errors import UsageError
from ._model import NOT_BY_PATH, Model, expressions
from ._open import ModelLike, StrPath, open
from ._progress import Progress, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["load", "load_file", "save", "save_file"]


def load_file(
    filename: Model | ModelLike,
    *,
    dtype: DTypeLike = None,
    names: Iterable[str] | None = None,
    progress: Progress = None,
) -> dict[str, NDArray[Any]]:
    """Decodes all weights of a model, or those in `names`, to numpy arrays. Each has the weight's
    own type. `dtype` converts floating-point weights.

    >>> import weighbridge as wb
    >>> weights = wb.load_file("samples/tiny-llama-gptq", dtype="f32")
    >>> len(weights), weights["model.norm.weight"].dtype
    (21, dtype('float32'))
    """
    if isinstance(filename, Model):
        return arrays_of(filename, dtype, progress, names)
    with open(filename) as model:
        return arrays_of(model, dtype, progress, names)


def load(data: bytes, *, dtype: DTypeLike = None) -> dict[str, NDArray[Any]]:
    """Decodes all weights of a file in memory."""
    return load_file(data, dtype=dtype)


def save_file(
    tensors: Mapping[str, NDArray[Any]],
    filename: StrPath,
    metadata: Mapping[str, str] | None = None,
    *,
    force: bool = False,
) -> None:
    """Writes arrays to a file. The extension selects safetensors, NPZ or GGUF. `force` overwrites an
    existing file once the new one is complete."""
    from ._verbs import convert

    if not os.path.splitext(filename)[1]:
        ends = "must end in .safetensors, .npz or .gguf"
        raise UsageError(f"{os.fspath(filename)}: the output name {ends}")
    header, arrays = _laid_out(tensors, metadata)
    model = Model(native.open_arrays(header, arrays), NOT_BY_PATH)
    convert(model, filename, dtype="keep", names="keep", force=force)


def save(
    tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None
) -> bytes:
    """Serializes arrays to the bytes of a safetensors file."""
    header, arrays = _laid_out(tensors, metadata)
    return b"".join([header, *(memoryview(array).cast("B") for array in arrays)])


def arrays_of(
    model: Model, dtype: DTypeLike, progress: Progress, names: Iterable[str] | None
) -> dict[str, NDArray[Any]]:
    """Weights of a model as arrays, read in parallel."""
    arrays: dict[str, NDArray[Any]] = {}
    requests = []
    for name in dict.fromkeys(model if names is None else expressions(names)):
        weight = model[name]
        wanted = wanted_of(weight.dtype, weight._wanted(None), weight._wanted(dtype))
        if wanted in PACKED:
            arrays[name] = weight.numpy(wanted)
            continue
        arrays[name] = empty(weight.shape, wanted)
        requests.append((name, wanted, bytes_of(arrays[name])))
    with shown(progress, "loading") as show:
        native.read_many(model._native, requests, show)
    return arrays


def _laid_out(
    tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None
) -> tuple[bytes, list[Any]]:
    """The header of a safetensors file, and the bytes of the arrays in their order."""
    import numpy as np

    header: dict[str, Any] = {}
    if metadata:
        header["__metadata__"] = {str(key): str(value) for key, value in metadata.items()}
        for text in (*header["__metadata__"], *header["__metadata__"].values()):
            if text != text.encode(errors="replace").decode():
                raise UsageError(f"metadata is not valid UTF-8: {text!r}")
    arrays, at = [], 0
    # Wide types come first, as in safetensors, so that all arrays are aligned.
    for name, given in tensors.items():
        _refuse_unnameable(name)
        if not hasattr(given, "dtype"):
            raise TypeError(f"{name}: expected an array, found {type(given).__name__}")
    order = sorted(tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    for name, given in order:
        if given.dtype.byteorder == ">" or (given.dtype.byteorder == "=" and _is_big()):
            given = given.astype(given.dtype.newbyteorder("<"))
        array = np.ascontiguousarray(given).reshape(given.shape)
        dtype = dtype_name(array.dtype.newbyteorder("=") if array.dtype.kind in "iufc" else array.dtype)
        if dtype in PACKED:
            raise TypeError(f"{name}: saving {array.dtype} is not supported: it packs several values into a byte")
        if dtype == "C128":
            raise TypeError(f"{name}: safetensors has no type for {array.dtype}")
        header[name] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        arrays.append(bytes_of(array))
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text, arrays


def _refuse_unnameable(name: object) -> None:
    """An error if a file cannot hold an array of that name."""
    if not isinstance(name, str):
        raise TypeError(f"the name of an array must be a string, not {name!r}")
    if name == "__metadata__":
        raise UsageError("no array can be named '__metadata__': safetensors reserves that name")
    if not name.isascii() and name != name.encode(errors="replace").decode():
        raise UsageError(f"{name!r} cannot name an array: it is not valid UTF-8")


def _is_big() -> bool:
    import sys

    return sys.byteorder == "big"
