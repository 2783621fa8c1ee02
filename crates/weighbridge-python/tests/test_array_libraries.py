"""Libraries that take arrays by DLPack: jax without a copy, mlx and torch."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import weighbridge as wb
from capsules import look
from shared import GPTQ, TINY, written_file

TYPES = {
    "F16": np.dtype(np.float16),
    "F32": np.dtype(np.float32),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
}


@pytest.fixture
def floats(tmp_path: Path) -> Path:
    # No byte makes a NaN in any of the types.
    tensors = {
        name: (name, [4, 16], bytes(range(1, 65)) * dtype.itemsize)
        for name, dtype in TYPES.items()
    }
    return written_file(tmp_path / "floats.safetensors", tensors)


@pytest.mark.parametrize("name", TYPES)
def test_jax_takes_them_without_a_copy(name: str, floats: Path) -> None:
    jax = pytest.importorskip("jax")
    with wb.open(floats) as model:
        tensor = model[name].tensor()
        address = look(tensor.__dlpack__()).address
        array = jax.dlpack.from_dlpack(tensor)
        assert array.unsafe_buffer_pointer() == address
        assert array.dtype == TYPES[name] and array.shape == (4, 16)
        assert np.asarray(array).tobytes() == model[name].stored_bytes()
        direct = jax.dlpack.from_dlpack(model[name])
        assert np.asarray(direct).tobytes() == model[name].stored_bytes()
    with wb.open(floats, mmap=True) as model:
        lent = jax.dlpack.from_dlpack(model[name].view())
        assert np.asarray(lent).tobytes() == model[name].stored_bytes()


@pytest.mark.parametrize("framework", ["jax", "flax"])
def test_jax_by_safe_open(framework: Any) -> None:
    jax = pytest.importorskip("jax")
    with wb.safe_open(TINY, framework=framework) as file, wb.open(TINY) as model:
        found = file.get_tensor(GPTQ)
        assert isinstance(found, jax.Array)
        assert np.asarray(found).tobytes() == model[GPTQ].numpy().tobytes()
        rows = file.get_slice(GPTQ)[3:5]
        assert np.asarray(rows).tobytes() == model[GPTQ][3:5].tobytes()
        assert set(file.get_tensors()) == set(model)


@pytest.mark.parametrize("name", ["F16", "F32", "BF16"])
def test_mlx(name: str, floats: Path) -> None:
    mx = pytest.importorskip("mlx.core")
    with wb.open(floats) as model:
        for exporter in (model[name].tensor(), model[name]):
            array = mx.array(exporter)
            assert array.shape == (4, 16) and str(array.dtype).endswith(
                {"F16": "float16", "F32": "float32", "BF16": "bfloat16"}[name]
            )
            back = np.array(array.astype(mx.float32))
            assert back.tobytes() == model[name].numpy("f32").tobytes()


def test_mlx_by_safe_open() -> None:
    mx = pytest.importorskip("mlx.core")
    with wb.safe_open(TINY, framework="mlx") as file, wb.open(TINY) as model:
        found = file.get_tensor(GPTQ)
        wanted = model[GPTQ].numpy().astype(np.float32)
        assert np.array(found.astype(mx.float32)).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", TYPES)
def test_torch_takes_them_without_a_copy(name: str, floats: Path) -> None:
    torch = pytest.importorskip("torch")
    with wb.open(floats) as model:
        tensor = model[name].tensor()
        address = look(tensor.__dlpack__()).address
        found = torch.from_dlpack(tensor)
        assert found.data_ptr() == address and tuple(found.shape) == (4, 16)
        raw = found.view(torch.uint8).reshape(-1).tolist()
        assert bytes(raw) == model[name].stored_bytes()


def test_torch_and_what_is_read_only(floats: Path) -> None:
    torch = pytest.importorskip("torch")
    with wb.open(floats, mmap=True) as model, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        view = model["F32"].view()
        wanted = bytes(view)
        try:
            found = torch.from_dlpack(view)
        except BufferError:
            return  # It does not take memory that it may not write.
        assert found.numpy().tobytes() == wanted
