"""Maps weight types to numpy types. numpy and ml_dtypes are imported on first use."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from ._errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: The type to read a weight as: a name, or anything that numpy takes for a dtype. `"auto"` is the type
#: that `convert` writes, `None` the type that the scheme's own library decodes to.
DTypeLike = Literal["auto", "bf16", "f16", "f32"] | Any

# Names in ml_dtypes, then in numpy.
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
# In lower case these are numpy's names, which count bytes: `f4` is not a four-bit float.
_IN_BYTES = {"f4": "F32", "i8": "I64", "u8": "U64"}
#: The Python name of each weight type.
TYPE_NAMES = _NUMPY | _ML_DTYPES
_LONG = {name: dtype for dtype, name in TYPE_NAMES.items()}
#: Types that share bytes in the file. In an array each value has a byte of its own.
PACKED = frozenset({"F4", "F6_E2M3", "F6_E3M2"})


@cache
def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """The numpy dtype for a weight type."""
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
        raise UsageError(f"numpy has no type for {dtype}; use 'f32', 'bf16' or 'f16'")
    try:
        import ml_dtypes
    except ImportError as error:
        error.add_note(
            f"hint: {dtype} arrays need ml_dtypes: pip install 'weighbridge[numpy]', or use 'f32'"
        )
        raise
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


def dtype_name(dtype: object) -> str:
    """The name of a type given as `"bf16"`, `"BF16"`, `np.float32`, `torch.float16`, .."""
    if isinstance(dtype, str):
        known = _SHORT.get(dtype.lower()) or _IN_BYTES.get(dtype) or _LONG.get(dtype)
        known = known or (dtype.upper() if dtype.upper() in TYPE_NAMES else None)
        if known is not None:
            return known
    try:
        return _remembered(dtype)
    except TypeError:
        # An unhashable value cannot be cached.
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
        raise UsageError(f"{dtype!r} is not a weight type; use 'f32', 'bf16' or 'f16'")
    return found


_remembered = lru_cache(maxsize=64)(_looked_up)


def wanted_of(stored: str, own: str, asked: str) -> str:
    """The type that a weight is read as when all are. `asked` applies to floating-point weights;
    integer, boolean and complex ones keep their own type."""
    return asked if stored.startswith(("F", "BF")) else own


def empty(shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """A new uninitialized array."""
    target = numpy_dtype(dtype)
    import numpy as np

    return np.empty(shape, target)


def bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The memory of an array as bytes, because Python buffers do not know bfloat16."""
    import numpy as np

    return array.reshape(-1).view(np.uint8)
