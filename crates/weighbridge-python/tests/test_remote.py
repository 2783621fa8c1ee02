"""Models elsewhere: on a web server, on the Hub, in a bucket. What they give is what the same files give
here."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weighbridge as wb
import weighbridge.numpy
from elsewhere import TOKEN, Bucket, Hub, Server, Storage, running
from shared import FILES, GPTQ, NORM, ROOT, TINY, environment, python, same_bits, tree, written_file

CERTIFICATES = ROOT / "tests" / "remote" / "server" / "certificates"
SAMPLES = [
    FILES / "safetensors" / "metadata.safetensors",
    FILES / "gguf" / "tensor-types.gguf",
    FILES / "names" / "qwen3-q8" / "model.gguf",
    FILES / "pth" / "dtypes_float.pth",
    FILES / "pth" / "deflated.pth",
    FILES / "npz" / "deflated.npz",
    FILES / "npz" / "bzip2.npz",
]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No settings of whoever runs the tests."""
    for name in list(os.environ):
        if name.startswith(("HF_", "HUGGING", "TRANSFORMERS_", "AWS_")) or "proxy" in name.lower():
            monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HOME", str(tmp_path_factory.mktemp("home")))


@pytest.fixture
def web() -> Iterator[Server]:
    server = Server()
    with running(server):
        yield server


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """The Hub with one repository."""
    storage = Storage()
    server = Hub(storage)
    server.add("o/n", TINY)
    monkeypatch.setenv("HF_ENDPOINT", server.url())
    with running(server, storage):
        yield server


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    server = Bucket()
    server.files = {f"b/models/tiny/{path}": data for path, data in tree(TINY).items()}
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url())
    with running(server):
        yield server


def served(server: Server, path: Path) -> str:
    """The address of a file on a server."""
    server.files[path.name] = path.read_bytes()
    return server.url(path.name)


def many(path: Path, count: int = 8, numbers: int = 1 << 18) -> Path:
    """A file of weights that are large enough to be fetched one by one: a MiB each."""
    tensors = {
        f"w{at}": ("F32", [numbers >> 4, 16], np.full(numbers, at, np.float32).tobytes())
        for at in range(count)
    }
    return written_file(path, tensors)


def assert_same(there: wb.Model, here: wb.Model) -> None:
    assert list(there) == list(here) and len(here) > 0
    for name, weight in here.items():
        assert there[name].shape == weight.shape and there[name].nbytes == weight.nbytes
        if weight.undecodable is None and not weight.dtype.startswith(("F4", "F6")):
            assert same_bits(there[name].numpy(), weight.numpy()), name
        assert there[name].stored_bytes() == weight.stored_bytes()
    assert dict(there.metadata) == dict(here.metadata)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_files_give_what_they_give_here(path: Path, web: Server) -> None:
    with wb.open(served(web, path)) as there, wb.open(path) as here:
        assert there.format == here.format and there.path == served(web, path)
        assert_same(there, here)
        assert [one["kind"] for one in there.problems] == [one["kind"] for one in here.problems]


@pytest.mark.parametrize("address", ["hf://o/n", "hf://o/n@main", "s3://b/models/tiny"])
def test_repositories_give_what_they_give_here(address: str, hub: Hub, bucket: Bucket) -> None:
    with wb.open(address) as there, wb.open(TINY) as here:
        assert there.path == address and there[GPTQ].parts[0].file.startswith(address)
        assert_same(there, here)


def test_pages_and_files_of_the_hub(hub: Hub) -> None:
    page = hub.url("o/n/blob/main/model.safetensors.index.json?download=true")
    for address in (page, "hf://o/n/model.safetensors.index.json"):
        with wb.open(address) as there, wb.open(TINY) as here:
            assert list(there) == list(here)


def test_verbs(hub: Hub, bucket: Bucket, tmp_path: Path) -> None:
    for verb, name in ((wb.convert, "out.safetensors"), (wb.dequantize, "out")):
        verb(TINY, tmp_path / f"here-{name}")
        for place, address in enumerate(("hf://o/n", "s3://b/models/tiny")):
            verb(address, tmp_path / f"{place}-{name}")
            made, wanted = tree(tmp_path / f"{place}-{name}"), tree(tmp_path / f"here-{name}")
            # The marker says what a directory was made from.
            made.pop(".weigh.json", None), wanted.pop(".weigh.json", None)
            assert made == wanted
    # A GGUF file says its model's name, which is that of the repository.
    hub.add(f"o/{TINY.name}", TINY)
    wb.quantize(f"hf://o/{TINY.name}", tmp_path / "small.gguf", "Q8_0", allow_requantize=True)
    wb.quantize(TINY, tmp_path / "here.gguf", "Q8_0", allow_requantize=True)
    assert tree(tmp_path / "small.gguf") == tree(tmp_path / "here.gguf")
    assert wb.verify(tmp_path / "0-out", "hf://o/n")["ok"]
    assert wb.diff("hf://o/n", TINY, values="all")["ok"]
    there, here = wb.inspect("hf://o/n", tensors=True), wb.inspect(TINY, tensors=True)
    assert there["weights"] == here["weights"] and there["parameters"] == here["parameters"]
    assert wb.open_all("hf://o/n")[0].path == "hf://o/n"


def test_the_functions_of_safetensors(hub: Hub) -> None:
    here, there = wb.numpy.load_file(TINY), wb.numpy.load_file("hf://o/n")
    assert here.keys() == there.keys()
    assert all(same_bits(there[name], here[name]) for name in here)
    with wb.safe_open("hf://o/n", framework="np") as file:
        assert same_bits(file.get_tensor(GPTQ), here[GPTQ])
        assert same_bits(file.get_slice(GPTQ)[3:7], here[GPTQ][3:7])


def test_torch(hub: Hub) -> None:
    torch = pytest.importorskip("torch")
    import weighbridge.torch

    there, here = weighbridge.torch.load_file("hf://o/n"), weighbridge.torch.load_file(TINY)
    assert all(torch.equal(there[name], here[name]) for name in here)


def test_the_command(hub: Hub) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "weighbridge", "inspect", "hf://o/n"],
        capture_output=True, text=True, env=environment(),
    )
    assert done.returncode == 0 and "gptq" in done.stdout, done.stderr


def test_only_what_is_wanted_is_fetched(web: Server, tmp_path: Path) -> None:
    path = many(tmp_path / "many.safetensors")
    url = served(web, path)
    guess = 128 << 10
    with wb.open(url) as model:
        assert len(model) == 8 and web.sent <= guess and len(web.asked) == 1
        assert bool((model["w3"][100:104] == 3).all())
        assert web.sent <= guess + (64 << 10)
    web.sent = 0
    found = wb.numpy.load_file(url, names=["w5"])
    assert list(found) == ["w5"] and bool((found["w5"] == 5).all())
    assert (1 << 20) <= web.sent <= guess + (1 << 20) + (64 << 10)
    web.sent = 0
    wb.numpy.load_file(url)
    assert web.sent <= path.stat().st_size + (64 << 10)


def test_the_token_goes_to_the_hub_alone(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.private.add("o/n")
    with pytest.raises(FileNotFoundError, match="repository not found on the Hub, or it is private"):
        wb.open("hf://o/n")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with wb.open("hf://o/n") as model:
        assert TOKEN not in repr(model) + str(model.report()) and model[GPTQ].numpy().size > 0
        data = pickle.dumps(model) + pickle.dumps(model[GPTQ])
    assert TOKEN.encode() not in data and b"secret" not in data
    assert len(hub.storage.asked) > 0 and hub.storage.leaked == []


REFUSED: list[tuple[str, type[Exception], str]] = [
    ("hf://o/nothing", FileNotFoundError, "repository not found"),
    ("hf://o/n/nothing.safetensors", FileNotFoundError, "nothing.safetensors"),
    ("s3://b/nothing", FileNotFoundError, "object not found"),
    ("hf://o", FileNotFoundError, "repository not found"),
    ("http://elsewhere.invalid/a.gguf", wb.UnsupportedError, "plain http"),
    ("https://elsewhere.invalid/", wb.UsageError, "has no file name"),
]


@pytest.mark.parametrize(("address", "kind", "text"), REFUSED)
def test_what_is_not_there(
    address: str, kind: type[Exception], text: str, hub: Hub, bucket: Bucket
) -> None:
    with pytest.raises(kind, match=text) as raised:
        wb.open(address)
    assert not isinstance(raised.value, TypeError)
    if isinstance(raised.value, OSError):
        assert str(raised.value.filename).startswith(address)


def test_servers_that_refuse(web: Server, hub: Hub) -> None:
    url = served(web, SAMPLES[0])
    for status, kind in ((404, FileNotFoundError), (403, PermissionError), (401, PermissionError)):
        web.refusals[SAMPLES[0].name] = status
        with pytest.raises(kind, match=str(status)) as raised:
            wb.open(url + "?sig=topsecret")
        assert "topsecret" not in str(raised.value) + str(raised.value.__notes__ if status != 404 else "")
    hub.gated.add("o/n")
    with pytest.raises(PermissionError, match="gated"):
        wb.open("hf://o/n")


def test_networks_that_fail() -> None:
    with Server() as server:
        gone = server.url("a.safetensors")
    with pytest.raises(OSError, match="cannot connect") as raised:
        wb.open(gone, retries=0)
    assert not isinstance(raised.value, (FileNotFoundError, PermissionError))


def test_a_request_is_made_again(web: Server) -> None:
    url = served(web, SAMPLES[0])
    web.refusals[SAMPLES[0].name] = 503
    with pytest.raises(OSError, match="503"):
        wb.open(url, retries=0)
    web.refusals[SAMPLES[0].name] = 503
    assert len(wb.open(url, retries=1)) > 0


def test_a_silent_server(web: Server) -> None:
    url = served(web, SAMPLES[0])
    web.holds = True
    with pytest.raises(OSError, match="read timeout"):
        wb.open(url, timeout=0.2, retries=0)


def test_certificates(tmp_path: Path) -> None:
    secure = Server(CERTIFICATES)
    url = served(secure, SAMPLES[0])
    with running(secure):
        with pytest.raises(OSError, match="certificate"):
            wb.open(url)
        for ca_file in (CERTIFICATES / "authority.pem", str(CERTIFICATES / "authority.pem")):
            with wb.open(url, ca_file=ca_file) as there, wb.open(SAMPLES[0]) as here:
                assert_same(there, here)
                again = pickle.loads(pickle.dumps(there))
                assert_same(again, here)
    (tmp_path / "empty.pem").write_text("nothing")
    with pytest.raises(wb.UsageError, match="no PEM certificates"):
        wb.open(url, ca_file=tmp_path / "empty.pem")
    with pytest.raises(FileNotFoundError):
        wb.open(url, ca_file=tmp_path / "nothing.pem")


def test_plain_http_is_asked_for() -> None:
    # It is allowed then, and there is no such place.
    with pytest.raises(OSError):
        wb.open("http://elsewhere.invalid/a.gguf", allow_http=True, retries=0, timeout=5)


WRONG: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"allow_http": 1}, TypeError),
    ({"ca_file": 3}, TypeError),
    ({"timeout": "30"}, TypeError),
    ({"timeout": True}, TypeError),
    ({"timeout": 0}, wb.UsageError),
    ({"timeout": -1.5}, wb.UsageError),
    ({"timeout": float("nan")}, wb.UsageError),
    ({"timeout": float("inf")}, wb.UsageError),
    ({"retries": 2.0}, TypeError),
    ({"retries": False}, TypeError),
    ({"retries": -1}, wb.UsageError),
    ({"retries": 1 << 32}, wb.UsageError),
    ({"min_speed": 1.5}, TypeError),
    ({"min_speed": -1}, wb.UsageError),
    ({"max_wait": "300"}, TypeError),
    ({"max_wait": -1}, wb.UsageError),
]


@pytest.mark.parametrize(("arguments", "kind"), WRONG, ids=lambda one: str(one))
def test_wrong_options(arguments: dict[str, Any], kind: type[Exception]) -> None:
    for opening in (wb.open, wb.open_all):
        with pytest.raises(kind, match=next(iter(arguments))):
            opening(TINY, **arguments)


def test_numbers_of_numpy_are_options(web: Server) -> None:
    options: Any = {"timeout": np.float32(7.5), "retries": np.int64(0), "min_speed": np.int64(9), "max_wait": np.int64(9)}
    assert len(wb.open(served(web, SAMPLES[0]), **options)) == 3


def test_a_path_wins(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hf:" / "o").mkdir(parents=True)
    shutil.copy(SAMPLES[0], tmp_path / "hf:" / "o" / "n")
    before = len(hub.asked)
    for source in ("hf://o/n", Path("hf://o/n"), Path("hf:/o/n")):
        assert len(wb.open(source)) == 3
    again = pickle.loads(pickle.dumps(wb.open("hf://o/n")))
    assert len(again) == 3 and len(hub.asked) == before


def test_a_path_is_no_address(hub: Hub) -> None:
    for job in (wb.open, wb.inspect, wb.open_all, wb.numpy.load_file):
        with pytest.raises(wb.UsageError, match="an address begins with hf://") as raised:
            job(Path("hf://o/n"))
        assert "as a string" in str(raised.value.hint)
    with pytest.raises(wb.UsageError, match="an address begins with https://"):
        wb.dequantize(Path("https://o/n"), "out")

    class Somewhere(os.PathLike[str]):
        def __fspath__(self) -> str:
            return "hf://o/n"

    assert len(wb.open(Somewhere())) == 21


#: Opens what was pickled, in a process of its own, and says what it holds.
UNPICKLED = """
import pickle, sys
weight = pickle.loads(bytes.fromhex(sys.argv[1]))
print(weight.model.path, weight.name, weight.numpy("f32").tobytes().hex())
"""


@pytest.mark.parametrize("place", ["web", "hf", "s3"])
def test_pickling(place: str, web: Server, hub: Hub, bucket: Bucket) -> None:
    address = {"web": served(web, SAMPLES[2]), "hf": "hf://o/n", "s3": "s3://b/models/tiny"}[place]
    with wb.open(address, timeout=20, retries=1) as model:
        name = next(iter(model))
        wanted = model[name].numpy("f32").tobytes()
        data = pickle.dumps(model[name])
    assert address.encode() in data
    done = python(UNPICKLED, data.hex())
    assert done.stdout.split() == [address, name, wanted.hex()]


def test_pickling_what_is_another_now(web: Server, hub: Hub, bucket: Bucket) -> None:
    url = served(web, SAMPLES[2])
    stored = [pickle.dumps(wb.open(one)) for one in (url, "hf://o/n", "s3://b/models/tiny")]
    for data in stored:
        assert len(pickle.loads(data)) > 0
    # One bit of a number, of a file that is as long as before.
    web.files[SAMPLES[2].name] = web.files[SAMPLES[2].name][:-1] + b"\xff"
    hub.commit = hub.commit[::-1]
    name = next(name for name in bucket.files if name.endswith(".safetensors"))
    bucket.files[name] += b"x"
    for data, hint in zip(stored, (None, "0123456789abcdef0123456789abcdef01234567", None)):
        with pytest.raises(wb.MalformedError, match="changed since the model was pickled") as raised:
            pickle.loads(data)
        assert hint is None or hint in str(raised.value.hint)


def test_pickling_hands_no_secrets_on(web: Server) -> None:
    url = served(web, SAMPLES[0])
    password = url.replace("://", "://me:topsecret@")
    for address in (url + "?sig=topsecret", password):
        with wb.open(address) as model:
            for one in (model, model[next(iter(model))]):
                with pytest.raises(TypeError, match="query or a password"):
                    pickle.dumps(one)
            assert "topsecret" not in repr(model) + str(model.report(tensors=True)) + model.path


def ended_after(seconds: float, process: subprocess.Popen[str]) -> threading.Timer:
    """Ends a process that hangs, with the children that it has forked: they hold its pipes open."""
    guard = threading.Timer(seconds, os.killpg, (process.pid, signal.SIGKILL))
    guard.start()
    return guard


#: Reads before and after a fork, in the parent and in the child, by what is given.
FORKED = """
import os, sys, warnings
warnings.simplefilter("ignore")
import weighbridge as wb
model = wb.open(sys.argv[1])
names = list(model)
before = model[names[0]].numpy("f32").tobytes()
child = os.fork()
if child == 0:
    code = 3
    try:
        same = model[names[0]].numpy("f32").tobytes() == before
        other = all(model[name].numpy("f32").size >= 0 for name in names)
        again = wb.open(sys.argv[1])[names[0]].numpy("f32").tobytes() == before
        model.close()
        code = 0 if (same and other and again) else 4
    finally:
        os._exit(code)
for name in names:
    model[name].numpy("f32")
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("place", ["web", "hf", "s3"])
def test_forks(place: str, web: Server, hub: Hub, bucket: Bucket) -> None:
    address = {"web": served(web, SAMPLES[2]), "hf": "hf://o/n", "s3": "s3://b/models/tiny"}[place]
    words = [sys.executable, "-c", FORKED, address]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        start_new_session=True,
    ) as process:
        guard = ended_after(60, process)
        out, err = process.communicate()
        guard.cancel()
    assert out == "0\n", err


#: Forks while requests of other threads are under way, whose answers the child never gets.
FORKED_WHILE_READING = """
import os, sys, threading, warnings
warnings.simplefilter("ignore")
import weighbridge as wb
import weighbridge.numpy
model = wb.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
threading.Thread(target=weighbridge.numpy.load_file, args=(model,), daemon=True).start()
sys.stdin.readline()
child = os.fork()
if child == 0:
    print("forked", flush=True)
    sys.stdin.readline()
    code = 3
    try:
        found = [float(model[name][-1, -1]) for name in model]
        found += [float(one[-1, -1]) for one in weighbridge.numpy.load_file(model).values()]
        code = 0 if found == 2 * [float(at) for at in range(len(model))] else 4
    finally:
        os._exit(code)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forks_while_others_read(web: Server, tmp_path: Path) -> None:
    url = served(web, many(tmp_path / "many.safetensors"))
    words = [sys.executable, "-c", FORKED_WHILE_READING, url]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(), start_new_session=True,
    ) as process:
        guard = ended_after(60, process)
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        web.holds = True
        print(file=process.stdin, flush=True)
        assert web.holding.wait(60)
        print(file=process.stdin, flush=True)
        assert process.stdout.readline() == "forked\n"
        web.holds = False
        print(file=process.stdin, flush=True)
        out, err = process.communicate()
        guard.cancel()
    assert out == "0\n", err


#: Says when it begins, and how it ended.
INTERRUPTED = """
import sys
import weighbridge as wb
import weighbridge.numpy
address, output, job = sys.argv[1:]
model = None if job == "open" else wb.open(address)
print("ready", flush=True)
sys.stdin.readline()
try:
    if job == "open":
        wb.open(address)
    elif job == "read":
        model["w5"].numpy()
    elif job == "rows":
        model["w5"][3]
    elif job == "stored":
        model["w5"].stored_bytes()
    elif job == "load":
        weighbridge.numpy.load_file(model)
    elif job == "diff":
        wb.diff(model, model, values="all")
    else:
        wb.convert(model, output)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.stdin.readline()
    with wb.open(address) as model:
        print(float(model["w5"][3, 3]), flush=True)
"""


def listening() -> None:
    """A shell that starts the tests in the background makes them deaf to Ctrl-C, and what they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
@pytest.mark.parametrize("job", ["open", "read", "rows", "stored", "load", "diff", "convert"])
def test_interrupting(job: str, web: Server, tmp_path: Path) -> None:
    """The server says half of what it was asked for, and no more until the end."""
    url = served(web, many(tmp_path / "many.safetensors"))
    place = tmp_path / "place"
    place.mkdir()
    words = [sys.executable, "-c", INTERRUPTED, url, str(place / "out.safetensors"), job]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(), preexec_fn=listening,
    ) as process:
        guard = threading.Timer(25, process.kill)
        guard.start()
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        web.holds = True
        print(file=process.stdin, flush=True)
        assert web.holding.wait(60)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert not web.go_on.is_set() and list(place.iterdir()) == []
        web.holds = False
        out, err = process.communicate("\n")
        guard.cancel()
    assert (out, process.returncode) == ("5.0\n", 0), err
