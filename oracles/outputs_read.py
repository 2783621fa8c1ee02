"""Files and directories read by the canonical reader of their container, as plain bytes.

Each reader gives {name: Tensor}: the container's name for the type, the shape outermost dimension
first, and the row-major little-endian bytes. Nothing here parses a file itself.
"""

import json
import os
from typing import NamedTuple

import ml_dtypes
import numpy as np
import safetensors

from expect import DTYPE_NAMES, little_endian_bytes


class Tensor(NamedTuple):
    dtype: str
    shape: tuple
    data: bytes


class Unreadable(Exception):
    """The canonical reader does not accept what was written, or finds something else in it."""


# The types of numbers that numpy, or ml_dtypes beside it, computes with.
NUMPY = {name: np.dtype(getattr(ml_dtypes, kind, kind)) for kind, name in DTYPE_NAMES.items()}


def values(tensor):
    """The numbers as an array, flat."""
    return np.frombuffer(tensor.data, NUMPY[tensor.dtype])


def rounded(array, dtype):
    """Numbers rounded once to a type, as its little-endian bytes."""
    with np.errstate(all="ignore"):
        return array.astype(NUMPY[dtype]).tobytes()


def safetensors_file(path):
    with open(path, "rb") as file:
        read = safetensors.deserialize(file.read())
    found = {name: Tensor(t["dtype"], tuple(t["shape"]), bytes(t["data"])) for name, t in read}
    with safetensors.safe_open(path, "np") as opened:
        if sorted(opened.keys()) != sorted(found):
            raise Unreadable(f"safe_open finds {sorted(opened.keys())}")
        for name, tensor in found.items():
            # The reader people use gives arrays, where numpy has the type.
            if tensor.dtype in NUMPY and NUMPY[tensor.dtype].isbuiltin == 1:
                array = opened.get_tensor(name)
                if array.shape != tensor.shape or little_endian_bytes(array) != tensor.data:
                    raise Unreadable(f"safe_open reads {name} otherwise than deserialize")
    return found


def safetensors_metadata(path):
    with safetensors.safe_open(path, "np") as opened:
        return opened.metadata() or {}


def safetensors_folder(path):
    """One file, or shards by the rules of transformers: what the index maps, from where it says."""
    files = {name for name in os.listdir(path) if name.endswith(".safetensors")}
    index = [name for name in os.listdir(path) if name.endswith(".safetensors.index.json")]
    if not index:
        if len(files) != 1:
            raise Unreadable(f"{sorted(files)} without an index")
        return safetensors_file(os.path.join(path, *files))
    # The stem is that of the source's file, where it had one.
    stem = index[0].removesuffix(".safetensors.index.json")
    document = json.load(open(os.path.join(path, index[0]), encoding="utf-8"))
    total = len(set(document["weight_map"].values()))
    wanted = {f"{stem}-{i + 1:05}-of-{total:05}.safetensors" for i in range(total)}
    if files != wanted or len(index) != 1:
        raise Unreadable(f"{sorted(files)} and {index} instead of {sorted(wanted)}")
    found, shards = {}, {}
    for name, shard in document["weight_map"].items():
        if shard not in shards:
            shards[shard] = safetensors_file(os.path.join(path, shard))
        if name not in shards[shard]:
            raise Unreadable(f"the index puts {name} into {shard}, which lacks it")
        found[name] = shards[shard][name]
    held = sum(len(shard) for shard in shards.values())
    if held != len(found):
        raise Unreadable(f"the index lists {len(found)} tensors of {held}")
    size = sum(len(tensor.data) for tensor in found.values())
    if document["metadata"]["total_size"] != size:
        raise Unreadable(f"total_size is {document['metadata']['total_size']}, the tensors have {size} bytes")
    return found


def numpy_archive(path):
    with np.load(path, allow_pickle=False) as archive:
        return {name: numpy_tensor(archive[name]) for name in archive.files}


def numpy_array(path):
    return {"": numpy_tensor(np.load(path, allow_pickle=False))}


def numpy_tensor(array):
    return Tensor(DTYPE_NAMES[array.dtype.name], array.shape, little_endian_bytes(array))


def gguf_python(path):
    """By gguf-py; the bytes of block types are as stored."""
    import gguf

    found = {}
    for tensor in gguf.GGUFReader(path).tensors:
        shape = tuple(int(extent) for extent in reversed(tensor.shape.tolist()))
        if tensor.name in found:
            raise Unreadable(f"{tensor.name} is there twice")
        found[tensor.name] = Tensor(tensor.tensor_type.name, shape, tensor.data.tobytes())
    return found


def gguf_fields(path):
    """The key-value pairs, as (types, contents), but for the reader's own."""
    import gguf

    fields = gguf.GGUFReader(path).fields
    return {
        name: ([kind.name for kind in field.types], field.contents())
        for name, field in fields.items()
        if not name.startswith("GGUF.")
    }


def is_newer_type(error):
    """Raises it again, unless gguf-py met a type that is newer than itself."""
    if "is not a valid GGMLQuantizationType" not in str(error):
        raise error


def gguf_c(path, ggml):
    """By ggml's own C, which leaves leading extents of 1 out of shapes."""
    try:
        found = {name: Tensor(kind.name, tuple(shape), data) for name, kind, shape, data in ggml.read(path)}
    except AssertionError:
        raise Unreadable("ggml's C does not open it") from None
    return found


def without_leading_ones(shape):
    shape = list(shape) or [1]
    while len(shape) > 1 and shape[0] == 1:
        shape.pop(0)
    return tuple(shape)
