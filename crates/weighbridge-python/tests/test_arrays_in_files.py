"""Arrays written to files and read again, every type in every form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import weighbridge as wb
import weighbridge.numpy
from shared import TINY, TYPES, plain_file, same_bits, tree

MORE: dict[str, Any] = {
    "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}


def arrays() -> dict[str, np.ndarray]:
    """An array of every type."""
    made = {}
    for name, dtype in (TYPES | MORE).items():
        numbers = np.arange(1, 25).reshape(2, 3, 4)
        made[name] = (numbers % 2 if name == "BOOL" else numbers).astype(dtype)
    return made


FORMS: dict[str, Any] = {
    "as it is": lambda array: array,
    "without dimensions": lambda array: array[0, 0, 1],
    "without dimensions, as an array": lambda array: np.asarray(array[0, 0, 1]),
    "empty": lambda array: array[:0],
    "empty inside": lambda array: array[:, :0],
    "Fortran order": np.asfortranarray,
    "transposed": lambda array: array.T,
    "with gaps": lambda array: array[:, ::2, 1::2],
    "backwards": lambda array: array[::-1],
    "read-only": lambda array: np.broadcast_to(array[:1], array.shape),
    "one": lambda array: array[:1, :1, :1],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", ["file", "bytes"])
def test_round_trips(form: str, way: str, tmp_path: Path) -> None:
    given = {name: np.asarray(FORMS[form](array)) for name, array in arrays().items()}
    path = tmp_path / "out.safetensors"
    if way == "file":
        weighbridge.numpy.save_file(given, path, metadata={"who": "me"})
        found = weighbridge.numpy.load_file(path)
        assert weighbridge.numpy.load(path.read_bytes()).keys() == found.keys()
    else:
        path.write_bytes(weighbridge.numpy.save(given, {"who": "me"}))
        found = weighbridge.numpy.load(path.read_bytes())
    assert set(found) == set(given)
    for name, array in given.items():
        assert same_bits(found[name], array), name
    with wb.open(path) as model:
        # What is converted says that its names are those of PyTorch.
        said = {"format": "pt"} if way == "file" else {}
        assert dict(model.metadata) == said | {"who": "me"} and model.problems == []
        assert {name: model[name].dtype for name in model} == {name: name for name in given}
        assert {weight.scheme for weight in model.values()} == {"plain"}


def test_others_read_what_is_written(tmp_path: Path) -> None:
    known = {name: array for name, array in arrays().items() if name in TYPES}
    weighbridge.numpy.save_file(known, tmp_path / "out.safetensors")
    for found in (
        plain_file(tmp_path / "out.safetensors"),
        _written(weighbridge.numpy.save(known), tmp_path),
    ):
        assert all(same_bits(found[name], array) for name, array in known.items())


def _written(data: bytes, place: Path) -> dict[str, np.ndarray]:
    (place / "bytes.safetensors").write_bytes(data)
    return plain_file(place / "bytes.safetensors")


def test_safetensors_reads_what_is_written(tmp_path: Path) -> None:
    theirs = pytest.importorskip("safetensors.numpy")
    # Its functions know these types, and none of ml_dtypes.
    known = {name: array for name, array in arrays().items() if array.dtype.kind in "biuf"}
    known = {name: array for name, array in known.items() if array.dtype.isbuiltin == 1}
    assert len(known) == 12
    weighbridge.numpy.save_file(known, tmp_path / "out.safetensors", metadata={"a": "b"})
    found = theirs.load_file(tmp_path / "out.safetensors")
    assert all(same_bits(found[name], array) for name, array in known.items())
    found = theirs.load(weighbridge.numpy.save(known))
    assert all(same_bits(found[name], array) for name, array in known.items())
    found = weighbridge.numpy.load(theirs.save(known))
    assert all(same_bits(found[name], array) for name, array in known.items())


def test_the_other_byte_order(tmp_path: Path) -> None:
    kinds = ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8")
    given = {kind: np.arange(1, 7).reshape(2, 3).astype(f">{kind}") for kind in kinds}
    weighbridge.numpy.save_file(given, tmp_path / "out.safetensors")
    for found in (
        weighbridge.numpy.load_file(tmp_path / "out.safetensors"),
        weighbridge.numpy.load(weighbridge.numpy.save(given)),
    ):
        for kind, array in given.items():
            assert found[kind].dtype == kind and np.array_equal(found[kind], array), kind


@pytest.mark.parametrize("name", ["out.npz", "out.gguf"])
def test_other_formats(name: str, tmp_path: Path) -> None:
    given = {
        "half": np.arange(64, dtype=np.float16).reshape(2, 32),
        "single": np.arange(6, dtype=np.float32).reshape(1, 2, 3),
        "words": np.arange(5, dtype=np.int32),
    }
    if name == "out.gguf":
        given["brain"] = np.arange(8).astype(ml_dtypes.bfloat16)
    weighbridge.numpy.save_file(given, tmp_path / name)
    found = weighbridge.numpy.load_file(tmp_path / name)
    assert set(found) == set(given)
    assert all(same_bits(found[key], array) for key, array in given.items())
    if name == "out.npz":
        with np.load(tmp_path / name) as theirs:
            assert all(same_bits(theirs[key], array) for key, array in given.items())


def test_existing_files_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "out.safetensors"
    one, other = {"a": np.zeros(3, np.float32)}, {"a": np.ones(3, np.float32)}
    weighbridge.numpy.save_file(one, path)
    before = tree(tmp_path)
    with pytest.raises((FileExistsError, wb.WeighbridgeError)):
        weighbridge.numpy.save_file(other, path)
    assert tree(tmp_path) == before
    weighbridge.numpy.save_file(other, path, force=True)
    assert weighbridge.numpy.load_file(path)["a"][0] == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.safetensors"]


def test_odd_names_and_none_at_all(tmp_path: Path) -> None:
    names = ["", "a/b", "ü😀", "line\nbreak", "__metadata", "x" * 300, "\\\"'"]
    given = {name: np.full(2, at, np.float32) for at, name in enumerate(names)}
    weighbridge.numpy.save_file(given, tmp_path / "names.safetensors")
    found = weighbridge.numpy.load_file(tmp_path / "names.safetensors")
    assert {name: array[0] for name, array in found.items()} == {
        name: at for at, name in enumerate(names)
    }
    with pytest.raises(wb.UsageError, match="nothing to convert"):
        weighbridge.numpy.save_file({}, tmp_path / "none.safetensors")
    assert weighbridge.numpy.load(weighbridge.numpy.save({})) == {}


def test_what_cannot_be_stored(tmp_path: Path) -> None:
    wrong: list[Any] = [
        np.array(["text"]),
        np.array([object()]),
        np.zeros(3, "datetime64[s]"),
        np.zeros(3, [("a", "f4")]),
        np.zeros(4, ml_dtypes.float4_e2m1fn),
        np.zeros(4, np.longdouble),
        np.zeros(4, np.complex128),
    ]
    for array in wrong:
        for job in (
            lambda array=array: weighbridge.numpy.save({"a": array}),
            lambda array=array: weighbridge.numpy.save_file({"a": array}, tmp_path / "o.safetensors"),
        ):
            with pytest.raises((wb.UsageError, TypeError)):
                job()
    assert list(tmp_path.iterdir()) == []


def test_names_that_cannot_be_stored(tmp_path: Path) -> None:
    one = np.zeros(2, np.float32)
    wrong: list[Any] = [{"__metadata__": one}, {"half \ud800": one}, {3: one}, {"a": [1.0, 2.0]}]
    for tensors in wrong:
        with pytest.raises((wb.UsageError, TypeError)):
            weighbridge.numpy.save(tensors)
        with pytest.raises((wb.UsageError, TypeError)):
            weighbridge.numpy.save_file(tensors, tmp_path / "o.safetensors")
    for metadata in ({"half \ud800": ""}, {"a": "half \ud800"}):
        with pytest.raises(wb.UsageError, match="UTF-8"):
            weighbridge.numpy.save({"a": one}, metadata)
    assert list(tmp_path.iterdir()) == []


def test_names_and_types_of_what_is_loaded(tiny: wb.Model) -> None:
    names = list(tiny)[:3]
    for source in (tiny, TINY):
        found = weighbridge.numpy.load_file(source, names=[*names, names[0]], dtype="bf16")
        assert list(found) == names
        assert all(array.dtype == ml_dtypes.bfloat16 for array in found.values())
    assert list(weighbridge.numpy.load_file(tiny, names=(name for name in names))) == names
    # One name is not a list of letters.
    assert list(weighbridge.numpy.load_file(tiny, names=names[1])) == [names[1]]
    with pytest.raises(KeyError):
        weighbridge.numpy.load_file(tiny, names=["nothing"])


def test_only_floating_point_numbers_change_their_type(tmp_path: Path) -> None:
    weighbridge.numpy.save_file(arrays(), tmp_path / "all.safetensors")
    found = weighbridge.numpy.load_file(tmp_path / "all.safetensors", dtype="f32")
    for name, array in arrays().items():
        is_float = name.startswith(("F", "BF"))
        assert found[name].dtype == (np.float32 if is_float else array.dtype), name
        assert np.array_equal(found[name], array.astype(found[name].dtype)), name


def test_the_header_is_aligned() -> None:
    data = weighbridge.numpy.save({"a": np.zeros(3, np.uint8), "b": np.zeros(2, np.float64)})
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    assert length % 8 == 0
    assert header["b"]["data_offsets"] == [0, 16] and header["a"]["data_offsets"] == [16, 19]


def test_a_file_to_save_into_has_an_extension(tmp_path: Path) -> None:
    """Without one the command would make a directory."""
    with pytest.raises(wb.UsageError, match=r"must end in \.safetensors"):
        weighbridge.numpy.save_file({"a": np.zeros(3)}, tmp_path / "model")
    assert not list(tmp_path.iterdir())
