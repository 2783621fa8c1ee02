"""What each sample's own library reads in it, as the golden of every way to write it out.

Two kinds of samples, both under `tests/files`:

* a file or directory with an expectation, `NAME.expect.json`: type, shape and SHA-256 of every
  tensor. Bytes of which only the checksum is known come from `bank`, which keeps whatever was read
  anywhere by its checksum. Block types are decoded by ggml's C.
* a fixture, a directory with `expected.safetensors`: its weights as decoded by the scheme's library.
  What else it holds is read by the container's canonical reader.
"""

import glob
import json
import os
import shutil
from typing import NamedTuple, Optional

from expect import sha256
from outputs_read import NUMPY, Tensor, numpy_archive, rounded, safetensors_file, values

OURS = {"expected.safetensors", "expected-f32.safetensors", "findings.json"}
FLOATS = {name for name, kind in NUMPY.items() if kind.kind in "fV" or name.startswith("F8")} | {"BF16"}
APR_BLOCKS = {"APR_Q4", "APR_Q8"}
# Stored in packed bits, and no numbers to a cast.
PACKED = {"F4", "F6_E2M3", "F6_E3M2"}
bank = {}


def keep_bytes(data):
    """Remembers bytes by their sum."""
    bank.setdefault(sha256(data), data)


class Stored(NamedTuple):
    """A tensor as it lies in the sample: the container's own reading of it."""

    dtype: Optional[str]
    shape: tuple
    sum: Optional[str]


class Decoded(NamedTuple):
    """A weight as its library decodes it, in the library's type and in f32 where it can do that."""

    native: Tensor
    single: Optional[bytes]


class Want(NamedTuple):
    """What a written tensor must be. `sum` is over its bytes; `data` are bytes in which every NaN
    is as good as any other; with neither, no library has said what it is."""

    dtype: Optional[str]
    shape: tuple
    sum: Optional[str] = None
    data: Optional[bytes] = None


class Sample:
    def __init__(self, name, path, stored, decoded, expect=None):
        self.name, self.path, self.stored, self.decoded = name, path, stored, decoded
        self.expect = expect or {}
        # Filled by `learn`.
        self.plain, self.gone, self.problems = set(), set(), {}

    def learn(self, inspected):
        """Takes from the command's own listing which stored tensors are parts of what weight."""
        self.problems = {problem["tensor"]: problem["kind"] for problem in inspected["problems"]}
        weights = {t["name"]: t for t in inspected["tensors"]}
        self.plain = {name for name, t in weights.items() if t["scheme"] == "plain"}
        parts = {part["name"] for t in weights.values() for part in t["parts"]}
        self.gone = (parts | {t["name"] for t in inspected["dropped"]}) - set(weights)

    def wanted(self, dtype, ggml):
        """{name: Want} of the whole sample, written with `--dtype`."""
        if dtype == "keep":
            if self.stored is None:
                return {}
            return {name: Want(t.dtype, t.shape, t.sum) for name, t in self.stored.items()}
        wants = {}
        for name, stored in (self.stored or {}).items():
            if name not in self.gone and (name in self.plain or name not in self.decoded):
                wants[name] = self.stored_as(stored, dtype, ggml)
        for name, decoded in self.decoded.items():
            if name not in wants:
                wants[name] = decoded_as(decoded, dtype)
        return wants

    def stored_as(self, stored, dtype, ggml):
        kind = next((t for t in ggml.types if t.name == stored.dtype and t.is_block), None)
        data = bank.get(stored.sum)
        if kind or stored.dtype in APR_BLOCKS:
            wanted = {"auto": "BF16"}.get(dtype, dtype.upper())
            # ggml never decodes Q8_1.
            if data is None or kind is None or not kind.to_float and kind.name != "Q8_K":
                return Want(wanted, stored.shape)
            return Want(wanted, stored.shape, data=rounded(ggml.decode(kind, data), wanted))
        wanted = dtype.upper()
        if dtype == "auto" or stored.dtype not in FLOATS or stored.dtype == wanted:
            return Want(stored.dtype, stored.shape, stored.sum)
        if data is None:
            return Want(wanted, stored.shape)
        return Want(wanted, stored.shape, data=rounded(values(Tensor(stored.dtype, (), data)), wanted))


def decoded_as(decoded, dtype):
    native, shape = decoded.native, decoded.native.shape
    wanted = dtype.upper()
    if dtype == "auto":
        wanted = native.dtype if native.dtype in ("F16", "BF16") else "BF16"
    if native.dtype == wanted:
        return Want(wanted, shape, data=native.data)
    single = native.data if native.dtype == "F32" else decoded.single
    if single is None:
        return Want(wanted, shape)
    return Want(wanted, shape, data=rounded(values(Tensor("F32", (), single)), wanted))


def samples(root, folder, pattern):
    """Every sample whose name matches; fixtures are copied into `folder` without what is ours."""
    files = os.path.join(root, "tests/files")
    homes = sorted(map(os.path.dirname, glob.glob(f"{files}/**/expected.safetensors", recursive=True)))
    for home in homes:
        name = os.path.relpath(home, files)
        if pattern.search(name):
            yield fixture(name, home, os.path.join(folder, "models", name))
    for path in sorted(glob.glob(f"{files}/**/*.expect.json", recursive=True)):
        sample = path.removesuffix(".expect.json")
        name = os.path.relpath(sample, files)
        # A file inside a fixture is that fixture.
        if os.path.dirname(path) not in homes and pattern.search(name):
            yield expected(name, sample, json.load(open(path, encoding="utf-8")), root)


def fixture(name, home, copy):
    os.makedirs(copy)
    stored = {}
    for file in sorted(os.listdir(home)):
        if file in OURS or file.endswith(".expect.json"):
            continue
        source = os.path.join(home, file)
        shutil.copy(source, copy)
        reader = {".safetensors": safetensors_file, ".npz": numpy_archive}.get(os.path.splitext(file)[1])
        if reader and stored is not None:
            for key, tensor in reader(source).items():
                keep_bytes(tensor.data)
                stored[key] = Stored(tensor.dtype, tensor.shape, sha256(tensor.data))
        elif file.endswith((".bin", ".pt", ".pth")):
            # Only torch reads it.
            stored = None
    return Sample(name, copy, stored, goldens(home, "expected.safetensors", "expected-f32.safetensors"))


def goldens(home, native, single):
    native = safetensors_file(os.path.join(home, native))
    single = os.path.join(home, single)
    single = safetensors_file(single) if os.path.isfile(single) else {}
    return {name: Decoded(t, single[name].data if name in single else None) for name, t in native.items()}


def expected(name, path, expect, root):
    lists = [expect.get(key, []) for key in ("tensors", "arrays", "constants", "attributes")]
    stored = {t["name"]: Stored(t["dtype"], tuple(t["shape"] or ()), t.get("sha256")) for t in sum(lists, [])}
    if not os.path.exists(path):
        path = os.path.join(root, "samples", os.path.basename(path))
    home, stem = os.path.dirname(path), os.path.basename(path).split(".")[0].removesuffix("-big-endian")
    decoded = {}
    if os.path.exists(f"{home}/{stem}.expected.safetensors"):
        decoded = goldens(home, f"{stem}.expected.safetensors", "")
    if os.path.basename(path) == "tiny-llama-gptq":
        home = os.path.join(root, "tests/files/gptq")
        for entry in json.load(open(os.path.join(home, "golden.json"))):
            data = open(os.path.join(home, entry["file"]), "rb").read()
            decoded[entry["name"]] = Decoded(Tensor("F16", tuple(entry["shape"]), data), None)
    return Sample(name, path, stored, decoded, expect)
