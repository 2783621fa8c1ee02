"""Open any model weight file as arrays, without torch.

    import weighbridge as wb

    with wb.open("Qwen3-8B-GPTQ/") as model:
        weight = model["model.layers.0.mlp.up_proj.weight"]
        weight.shape, weight.dtype, weight.scheme
        weight.numpy("f32")     # the whole weight, decoded
        weight[128:256]         # reads only these rows

`inspect`, `show`, `stats`, `convert`, `dequantize`, `quantize`, `diff`, `verify` and `hash` are the
verbs of the command `weigh`, which is part of the package. It has no required dependencies; arrays
need numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _interpreter

_interpreter.refuse_others()

from ._arrays import DTypeLike
from ._errors import (
    LimitError,
    MalformedError,
    NoSuchTensorError,
    UnsupportedError,
    UsageError,
    VerificationError,
    WeighbridgeError,
)
from ._model import Metadata, Model, Part, Weight
from ._open import BinaryFile, Limits, ModelLike, Rules, StrPath, open, open_all
from ._progress import Progress
from ._safe_open import PySafeSlice, safe_open
from ._verbs import (
    convert,
    dequantize,
    diff,
    families,
    hash,
    inspect,
    quantize,
    quantizers,
    show,
    stats,
    verify,
)
from ._weighbridge import VERSION as __version__
from ._weighbridge import Tensor

if TYPE_CHECKING:
    from . import numpy as numpy
    from . import torch as torch
    from ._reports import (
        ConvertReport,
        DiffReport,
        FamiliesReport,
        HashReport,
        InspectReport,
        ShowReport,
        StatsReport,
        VerifyReport,
    )
    from .numpy import load_file as load_file
    from .numpy import save_file as save_file

__all__ = [
    "BinaryFile",
    "ConvertReport",
    "DTypeLike",
    "DiffReport",
    "FamiliesReport",
    "HashReport",
    "InspectReport",
    "LimitError",
    "Limits",
    "MalformedError",
    "Metadata",
    "Model",
    "ModelLike",
    "NoSuchTensorError",
    "Part",
    "Progress",
    "PySafeSlice",
    "Rules",
    "ShowReport",
    "StatsReport",
    "StrPath",
    "Tensor",
    "UnsupportedError",
    "UsageError",
    "VerificationError",
    "VerifyReport",
    "WeighbridgeError",
    "Weight",
    "__version__",
    "convert",
    "dequantize",
    "diff",
    "families",
    "hash",
    "inspect",
    "load_file",
    "numpy",
    "open",
    "open_all",
    "quantize",
    "quantizers",
    "safe_open",
    "save_file",
    "show",
    "stats",
    "torch",
    "verify",
]

_MODULES = ("numpy", "torch")
_FROM_NUMPY = ("load_file", "save_file")


def __getattr__(name: str) -> Any:
    """Imports modules and report types on first use, so that `import weighbridge` stays fast."""
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name in _FROM_NUMPY:
        return getattr(import_module(f"{__name__}.numpy"), name)
    if name.endswith("Report") and name in __all__:
        return getattr(import_module(f"{__name__}._reports"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public API."""
    return sorted(__all__)
