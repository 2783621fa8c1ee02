"""Types of weights as types of numpy. numpy and ml_dtypes are imported when an array is wanted."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from ._errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: What a weight can be read as: a name, or anything that numpy takes for a type. `"auto"` is what
#: `convert` would write, `None` the type that the weight's own library decodes it to.
DTypeLike = Literal["auto", "bf16", "f16", "f32"] | Any

# The name in ml_dtypes, or else in numpy.
_ML_DTYPES = {
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F4": "float4_e2m1fn",
    "F6_E2M3": "float6_e2m3fn",
    "F6_E3M2": "float6_e3m2fn",
}
_NUMPY = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
    "C128": "complex128",
}
_SHORT = {"f32": "F32", "bf16": "BF16", "f16": "F16"}
# In small letters these are numpy's, which counts bytes: its `f4` is no float of four bits.
_IN_BYTES = {"f4": "F32", "i8": "I64", "u8": "U64"}
#: What a type of weights is called in Python.
TYPE_NAMES = _NUMPY | _ML_DTYPES
_LONG = {name: dtype for dtype, name in TYPE_NAMES.items()}
#: Several of them share a byte in the file; in an array each has one of its own.
PACKED = frozenset({"F4", "F6_E2M3", "F6_E3M2"})


@cache
def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """The type of numpy for a type of weights."""
    try:
        import numpy as np
    except ImportError as error:
        error.add_note("hint: pip install 'weighbridge[numpy]'")
        raise
    name = _NUMPY.get(dtype)
    if name is not None:
        return np.dtype(name)
    name = _ML_DTYPES.get(dtype)
    if name is None:
        raise UsageError(f"numpy has no type for {dtype}; read it as 'f32', 'bf16' or 'f16'")
    try:
        import ml_dtypes
    except ImportError as error:
        error.add_note(
            f"hint: {dtype} is a type of ml_dtypes: pip install 'weighbridge[numpy]', or ask for 'f32'"
        )
        raise
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


def dtype_name(dtype: object) -> str:
    """The name of a type, however it is given: `"bf16"`, `"BF16"`, `np.float32`, `torch.float16`."""
    if isinstance(dtype, str):
        known = _SHORT.get(dtype.lower()) or _IN_BYTES.get(dtype) or _LONG.get(dtype)
        known = known or (dtype.upper() if dtype.upper() in TYPE_NAMES else None)
        if known is not None:
            return known
    try:
        return _remembered(dtype)
    except TypeError:
        # What cannot be a key is looked up each time.
        return _looked_up(dtype)


def _looked_up(dtype: object) -> str:
    text = str(dtype)
    if text.startswith("torch."):
        return dtype_name(text.removeprefix("torch."))
    try:
        import numpy as np

        name = np.dtype(dtype).name  # type: ignore[call-overload]
    except (ImportError, TypeError):
        name = ""
    found = _LONG.get(str(name))
    if found is None:
        raise UsageError(f"{dtype!r} is no type of weights; 'f32', 'bf16' and 'f16' always are")
    return found


_remembered = lru_cache(maxsize=64)(_looked_up)


def wanted_of(stored: str, own: str, asked: str) -> str:
    """The type that a weight of a whole model is read as: what is asked for is for floating-point
    numbers; integers, booleans and complex ones keep theirs."""
    return asked if stored.startswith(("F", "BF")) else own


def empty(shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """A new array for a weight."""
    target = numpy_dtype(dtype)
    import numpy as np

    return np.empty(shape, target)


def bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The memory of an array: the buffers of Python know nothing of bfloat16."""
    import numpy as np

    return array.reshape(-1).view(np.uint8)
