"""Models and weights in other processes."""

from __future__ import annotations

import io
import multiprocessing
import os
import pickle
import shutil
from pathlib import Path

import pytest

import weighbridge as wb
from shared import FILES, GPTQ, same_bits


def numbers(weight: wb.Weight) -> tuple[int, bytes]:
    return os.getpid(), weight.numpy("f32").tobytes()


def names(model: wb.Model) -> tuple[int, list[str]]:
    return os.getpid(), list(model)


def starts() -> list[str]:
    return [way for way in ("spawn", "fork") if way in multiprocessing.get_all_start_methods()]


# A warning about threads of other libraries is not about this package.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("start", starts())
def test_workers_read_the_same(start: str, tiny: wb.Model) -> None:
    tiny[GPTQ].numpy()
    wanted = tiny[GPTQ].numpy("f32").tobytes()
    with multiprocessing.get_context(start).Pool(2) as pool:
        # A worker that cannot read its task says nothing; waiting ends some time.
        found = pool.map_async(numbers, [tiny[GPTQ]] * 4).get(60)
        listed = pool.apply_async(names, (tiny,)).get(60)
    assert {data for _, data in found} == {wanted}
    assert listed[1] == list(tiny) and os.getpid() not in {listed[0], *(pid for pid, _ in found)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_a_model_survives_a_fork(tiny: wb.Model) -> None:
    """The very handle, not a pickled one, is used on both sides."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    wanted = tiny[GPTQ].numpy("f32").tobytes()
    child = context.Process(target=lambda: send.send_bytes(tiny[GPTQ].numpy("f32").tobytes()))
    child.start()
    assert receive.poll(60) and receive.recv_bytes() == wanted
    child.join()
    assert child.exitcode == 0 and tiny[GPTQ].numpy("f32").tobytes() == wanted


def test_options_go_along(tmp_path: Path) -> None:
    # Without its configs a file from ModelOpt can be read in several ways.
    for shard in (FILES / "nvfp4" / "modelopt").glob("model*"):
        shutil.copy(shard, tmp_path)
    assert wb.open(tmp_path).problems != []
    with wb.open(tmp_path, mmap=True, scheme={".": "nvfp4/modelopt"}) as model:
        assert model.problems == []
        again = pickle.loads(pickle.dumps(model))
        assert again.problems == [] and list(again) == list(model)
        for name, weight in model.items():
            assert same_bits(again[name].numpy(), weight.numpy()), name


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(FILES / "gguf" / "bf16.gguf", tmp_path)
    monkeypatch.chdir(tmp_path)
    stored = pickle.dumps(wb.open("bf16.gguf"))
    monkeypatch.chdir(FILES)
    assert list(pickle.loads(stored)) == ["special"]
    monkeypatch.chdir(tmp_path)
    stored = pickle.dumps(wb.open_all("."))
    monkeypatch.chdir(FILES)
    assert [list(model) for model in pickle.loads(stored)] == [["special"]]


def test_every_model_of_several(tmp_path: Path) -> None:
    for model in wb.open_all(FILES / "verdict"):
        assert list(pickle.loads(pickle.dumps(model))) == list(model)


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path = Path(shutil.copy(FILES / "gguf" / "bf16.gguf", tmp_path))
    with wb.open(path) as model:
        stored = {"model": pickle.dumps(model), "weight": pickle.dumps(model["special"])}
    about = path.stat()
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns + 1_000_000_000))
    for data in stored.values():
        with pytest.raises(wb.MalformedError, match="changed") as raised:
            pickle.loads(data)
        assert raised.value.path == str(path)
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert len(pickle.loads(stored["model"])) == 1
    path.unlink()
    with pytest.raises(FileNotFoundError):
        pickle.loads(stored["model"])


def test_bytes_and_file_objects_cannot_be_pickled() -> None:
    data = (FILES / "gguf" / "bf16.gguf").read_bytes()
    with (FILES / "gguf" / "bf16.gguf").open("rb") as file:
        for source in (data, bytearray(data), io.BytesIO(data), file):
            model = wb.open(source)
            for one in (model, model["special"]):
                with pytest.raises(TypeError, match="another process cannot open it"):
                    pickle.dumps(one)


def test_exceptions_can_be_pickled() -> None:
    try:
        wb.open(FILES / "pth" / "legacy_tar.pth")
    except wb.UnsupportedError as error:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is wb.UnsupportedError and str(again) == str(error)
        assert (again.kind, again.path, again.reason) == (error.kind, error.path, error.reason)


def test_a_closed_model_is_opened_again(tiny: wb.Model) -> None:
    names = list(tiny)
    tiny.close()
    again = pickle.loads(pickle.dumps(tiny))
    assert not again.closed and list(again) == names
