"""What `import weighbridge` offers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import weighbridge as wb
import weighbridge.numpy
from shared import NORM, TINY, python


def test_dir_is_the_public_api() -> None:
    assert dir(wb) == sorted(wb.__all__)
    private = [name for name in dir(wb) if name.startswith("_") and name != "__version__"]
    assert private == []
    assert all(hasattr(wb, name) for name in dir(wb) if name != "torch")


def test_functions_of_safetensors_at_the_top(tmp_path: Path) -> None:
    assert wb.load_file is weighbridge.numpy.load_file
    assert wb.save_file is weighbridge.numpy.save_file
    arrays = wb.load_file(TINY, dtype="f32", names=[NORM])
    wb.save_file(arrays, tmp_path / "one.safetensors")
    with wb.safe_open(tmp_path / "one.safetensors", framework="np") as file:
        assert np.array_equal(file.get_tensor(NORM), arrays[NORM])


def test_the_import_needs_no_array_library() -> None:
    code = """
import sys, weighbridge
dir(weighbridge)
print([one for one in ("numpy", "ml_dtypes", "torch", "weighbridge._reports") if one in sys.modules])
"""
    assert python(code).stdout == "[]\n"
