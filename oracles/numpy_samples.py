"""Samples of NPY and NPZ files, written by numpy.

Usage: python numpy_samples.py [FILES_DIR]    (default: ../tests/files; uses its npy/ and npz/)

Expectations beyond the common rules:

* The tensor of a `.npy` is named after the file's stem, that of an `.npz` member after the member
  without its `.npy`.
* numpy keeps no name for the types of ml_dtypes. Two opaque bytes (`V2`) are expected as BF16, one
  opaque byte (`V1`) as dtype "V1" with the raw bytes.
* `shape` is null for a member whose NPY header cannot be reached.
* `descr` is the type string in the header; `other_members` are archive members that are not arrays.
"""

import ast
import io
import os
import sys
import warnings
import zipfile

import ml_dtypes
import numpy as np
import zipfile_zstd  # teaches zipfile method 93
from numpy.lib import format as npy

from expect import Expect
from values import generator, values

LIBRARY = "numpy " + np.__version__
STAMP = (1980, 1, 1, 0, 0, 0)


def header_of(blob):
    """The header's dictionary; numpy's public functions read versions 1 and 2 only."""
    size = 2 if blob[6] == 1 else 4
    end = 8 + size + int.from_bytes(blob[8 : 8 + size], "little")
    return ast.literal_eval(blob[8 + size : end].decode("latin1" if blob[6] < 3 else "utf-8"))


def add(expect, name, blob):
    """Adds the array in `blob` as numpy reads it, or refuses it where it holds no plain numbers."""
    try:
        npy.read_magic(io.BytesIO(blob))
    except ValueError:
        expect.tensors.append({"name": name, "shape": None, "dtype": None, "sha256": None})
        expect.refused.append(name)
        return
    header = header_of(blob)
    shape, descr = header["shape"], header["descr"]
    expect.extra.setdefault("descr", {})[name] = descr
    try:
        dtype = npy.descr_to_dtype(descr)
    except (TypeError, ValueError):
        # ml_dtypes' E5M2 calls itself "<f1", which numpy writes and then cannot parse.
        assert descr == "<f1"
        expect.refuse(name, shape)
        return
    plain = dtype.kind in "biufc" and dtype.itemsize * (1 if dtype.kind != "c" else 0.5) <= 8
    if plain:
        array = np.load(io.BytesIO(blob), allow_pickle=False)
        assert array.shape == shape
        expect.array(name, array)
    elif dtype.kind == "V" and dtype.names is None and dtype.itemsize <= 2:
        array = np.load(io.BytesIO(blob), allow_pickle=False)
        expect.raw(name, shape, "BF16" if dtype.itemsize == 2 else "V1", array.tobytes("C"))
    else:
        expect.refuse(name, shape)


# ---- npy ---------------------------------------------------------------------------------------


def npy_bytes(array, version=None):
    stream = io.BytesIO()
    npy.write_array(stream, array, version=version)
    return stream.getvalue()


def save_npy(out, stem, array, version=None):
    path = os.path.join(out, stem + ".npy")
    blob = npy_bytes(array, version)
    with open(path, "wb") as file:
        file.write(blob)
    expect = Expect(LIBRARY, "npy")
    add(expect, stem, blob)
    expect.save(path)


def by_hand_npy(out, stem, header, array):
    path = os.path.join(out, stem + ".npy")
    raw = header.encode("latin1")
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(raw).to_bytes(2, "little") + raw + array.tobytes())
    with warnings.catch_warnings():
        # numpy advises to save a file of Python 2 again.
        warnings.simplefilter("ignore", UserWarning)
        loaded = np.load(path, allow_pickle=False)
    assert loaded.tobytes() == array.tobytes()
    expect = Expect("hand-written header, read back by " + LIBRARY, "npy")
    expect.array(stem, loaded)
    expect.extra["descr"] = {stem: loaded.dtype.str}
    expect.save(path)


def longdoubles(numbers):
    """x86 extended precision: ten bytes of number, then padding that is cleared here."""
    array = np.array(numbers, np.longdouble)
    assert array.dtype.str == "<f16"
    array.view(np.uint8).reshape(-1, 16)[:, 10:] = 0
    return array


def npy_samples(out):
    rng = generator(301)
    for name in ["bool", "int8", "uint8"]:
        save_npy(out, name, values(rng, name, (3, 5)))
    for name in [
        "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
        "complex64", "complex128",
    ]:  # fmt: skip
        array = values(rng, name, (3, 5))
        save_npy(out, name, array)
        save_npy(out, name + "-big-endian", array.astype(array.dtype.newbyteorder(">")))

    array = values(rng, np.float32, (2, 3, 4))
    for number in (1, 2, 3):
        save_npy(out, f"version-{number}", array, (number, 0))
    save_npy(out, "fortran", np.asfortranarray(array))
    save_npy(out, "fortran-big-endian", np.asfortranarray(values(rng, ">i2", (3, 4, 5))))
    save_npy(out, "fortran-version-3", np.asfortranarray(values(rng, np.float64, (4, 3))), (3, 0))
    # One dimension, or a single row, is both orders at once: numpy then writes C order.
    save_npy(out, "fortran-row", np.asfortranarray(values(rng, np.float32, (1, 6))))
    save_npy(out, "scalar", values(rng, np.float32, ()))
    save_npy(out, "empty", np.zeros((0,), np.float32))
    save_npy(out, "empty-inner", np.zeros((3, 0, 2), np.int64))
    save_npy(out, "empty-fortran", np.asfortranarray(np.zeros((2, 0), np.float16)))
    save_npy(out, "many-dims", values(rng, np.uint8, (1, 2) * 8))

    bf16 = values(rng, ml_dtypes.bfloat16, (3, 5))
    save_npy(out, "bfloat16", bf16)  # descr is "<V2"
    save_npy(out, "bfloat16-void", bf16.view("V2"))  # descr is "|V2"
    save_npy(out, "bfloat16-fortran", np.asfortranarray(bf16))
    every = np.arange(256, dtype=np.uint8).reshape(16, 16)
    save_npy(out, "float8-e4m3fn", every.view(ml_dtypes.float8_e4m3fn))  # descr is "<V1"
    save_npy(out, "float8-e5m2", every[:2].view(ml_dtypes.float8_e5m2))  # descr is "<f1"
    save_npy(out, "void-1", every[:2].view("V1"))  # descr is "|V1"

    # Headers numpy reads but no longer writes: Python 2's long integers with 16-byte alignment,
    # and a dictionary in another order, other quotes, spaces and no line break at its end.
    old = "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L, 4L), }"
    by_hand_npy(out, "python2-header", old + " " * (-(len(old) + 11) % 16) + "\n", array)
    odd = '{  "shape":(2 ,3,4,),"fortran_order" : False,\t"descr":"<f4"}'
    by_hand_npy(out, "odd-header", odd, array)
    # Fortran order claimed where it makes no difference.
    flat = "{'descr': '<i4', 'fortran_order': True, 'shape': (5,), }\n"
    by_hand_npy(out, "fortran-vector", flat, values(rng, np.int32, (5,)))

    # What is listed but holds no numbers this project reads.
    save_npy(out, "longdouble", longdoubles([1.5, -2.25, np.inf]))
    save_npy(out, "clongdouble", longdoubles([1.5, -2.0]).view(np.clongdouble))
    save_npy(out, "datetime", np.array(["2024-02-29T12:00", "NaT"], "datetime64[ns]"))
    save_npy(out, "timedelta", np.array([1, -5], "timedelta64[ms]"))
    save_npy(out, "unicode", np.array(["weight", "größe", "秤"]))
    save_npy(out, "unicode-big-endian", np.array(["ab", "c"], ">U2"))
    save_npy(out, "byte-strings", np.array([b"weight", b"bias"]))
    save_npy(out, "object", np.array([{"w": 1}, None, "x"], dtype=object))
    fields = [("position", "<f4", (3,)), ("id", "<i8"), ("flag", "?")]
    save_npy(out, "structured", np.zeros(2, dtype=fields))
    # A field name beyond Latin-1 makes numpy choose version 3 by itself.
    record = np.zeros(2, dtype=[("größe", "<f4"), ("秤", "<i2")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        save_npy(out, "structured-unicode", record)
    save_npy(out, "void-record", np.zeros((2,), "V12"))


# ---- npz ---------------------------------------------------------------------------------------


def finish(path, writer, other=()):
    expect = Expect(writer, "npz")
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if info.filename in other:
                continue
            name = info.filename.removesuffix(".npy")
            try:
                add(expect, name, archive.read(info))
            except NotImplementedError:
                expect.tensors.append({"name": name, "shape": None, "dtype": None, "sha256": None})
                expect.refused.append(name)
    expect.extra["other_members"] = list(other)
    # numpy's own reader must agree on the members.
    with np.load(path, allow_pickle=False) as loaded:
        names = [tensor["name"] for tensor in expect.tensors]
        assert sorted(names + list(other)) == sorted(loaded.files), (names, loaded.files)
        for tensor in expect.tensors:
            if tensor["sha256"] and tensor["dtype"] not in ("BF16", "V1"):
                assert list(loaded[tensor["name"]].shape) == tensor["shape"]
    expect.save(path)


def member(archive, name, data, compression=zipfile.ZIP_STORED, zip64=False):
    info = zipfile.ZipInfo(name, STAMP)
    info.compress_type = compression
    # bzip2 in blocks of 100 kB: a reader asks for 3.6 MB a member at the level that is usual, which
    # the tests that open thousands of damaged archives would pay each time.
    if compression == zipfile.ZIP_BZIP2:
        info._compresslevel = 1
    with archive.open(info, "w", force_zip64=zip64) as file:
        file.write(data)


class Pipe(io.RawIOBase):
    """Cannot seek: zipfile then writes sizes behind the data instead of before it."""

    def __init__(self):
        self.data = bytearray()

    def writable(self):
        return True

    def seekable(self):
        return False

    def write(self, piece):
        self.data += piece
        return len(piece)


def model(rng):
    return {
        "embed": values(rng, np.float32, (16, 8)),
        "bias": values(rng, np.float16, (8,)),
        "step": np.array(1234, np.int64),
        "transposed": np.asfortranarray(values(rng, np.float64, (4, 6))),
        "big": values(rng, ">f4", (5, 2)),
        "mask": values(rng, np.bool_, (3, 3)),
        "half": values(rng, ml_dtypes.bfloat16, (4, 4)),
        "none": np.zeros((0, 3), np.float32),
    }


def npz_samples(out):
    rng = generator(302)
    at = lambda name: os.path.join(out, name + ".npz")
    arrays = model(rng)

    # savez always reserves ZIP64 room in local headers; savez_compressed deflates.
    np.savez(at("stored"), **arrays)
    finish(at("stored"), LIBRARY)
    np.savez_compressed(at("deflated"), zeros=np.zeros((40, 40), np.float32), **arrays)
    finish(at("deflated"), LIBRARY)
    np.savez(at("positional"), arrays["embed"], arrays["bias"], named=arrays["mask"])
    finish(at("positional"), LIBRARY)
    paths = {"layer/0/w": arrays["embed"], "layer/0/b": arrays["bias"], "layer.1.w": arrays["mask"],
             "größe": arrays["step"], "a b": arrays["bias"], "\x1b[31mred": arrays["step"],
             "../up": arrays["step"], "/root": arrays["step"], "x.npy": arrays["step"]}  # fmt: skip
    np.savez(at("names"), **paths)
    finish(at("names"), LIBRARY)
    np.savez(at("no-arrays"))
    finish(at("no-arrays"), LIBRARY)

    # The same to something that cannot seek: data descriptors follow the members.
    for name, save in [("streamed", np.savez), ("streamed-deflated", np.savez_compressed)]:
        pipe = Pipe()
        save(pipe, embed=arrays["embed"], bias=arrays["bias"])
        with open(at(name), "wb") as file:
            file.write(pipe.data)
        finish(at(name), LIBRARY)

    np.savez(
        at("refused"),
        good=arrays["embed"],
        wide=longdoubles([1.5]),
        text=np.array(["a", "bc"]),
        when=np.array(["2024-02-29"], "datetime64[D]"),
        pickled=np.array([{"w": 1}], dtype=object),
        record=np.zeros(2, dtype=[("a", "<f4"), ("b", "<i2")]),
        last=arrays["bias"],
    )
    finish(at("refused"), LIBRARY)

    python = LIBRARY + " arrays in an archive by Python's zipfile"
    blobs = {name: npy_bytes(array) for name, array in arrays.items()}

    with zipfile.ZipFile(at("mixed"), "w") as archive:
        member(archive, "embed.npy", blobs["embed"], zipfile.ZIP_DEFLATED)
        member(archive, "bias.npy", blobs["bias"], zipfile.ZIP_STORED)
        member(archive, "transposed.npy", blobs["transposed"], zipfile.ZIP_DEFLATED)
        member(archive, "step.npy", blobs["step"], zipfile.ZIP_STORED)
    finish(at("mixed"), python)

    with zipfile.ZipFile(at("plain-zip"), "w") as archive:
        member(archive, "embed.npy", blobs["embed"])
        member(archive, "bias.npy", blobs["bias"])
    finish(at("plain-zip"), python)

    with zipfile.ZipFile(at("zip64-local"), "w") as archive:
        member(archive, "embed.npy", blobs["embed"], zip64=True)
        member(archive, "bias.npy", blobs["bias"], zipfile.ZIP_DEFLATED, zip64=True)
    finish(at("zip64-local"), python)

    # ZIP64 all the way: sizes and offsets in the central directory and the end record, too. Only
    # a lowered limit makes zipfile do that for a small archive.
    limit, zipfile.ZIP64_LIMIT = zipfile.ZIP64_LIMIT, 16
    try:
        with zipfile.ZipFile(at("zip64-full"), "w") as archive:
            member(archive, "embed.npy", blobs["embed"], zip64=True)
            member(archive, "bias.npy", blobs["bias"], zipfile.ZIP_DEFLATED, zip64=True)
    finally:
        zipfile.ZIP64_LIMIT = limit
    with open(at("zip64-full"), "rb") as file:
        assert b"PK\x06\x06" in file.read()
    finish(at("zip64-full"), python)

    # Every array of the model by each compression, and one that fills several blocks of zstd.
    large = npy_bytes(np.tile(values(rng, np.int16, (500,)), (300, 1)))
    constant = npy_bytes(np.zeros((64, 64), np.float32))
    methods = {"bzip2": zipfile.ZIP_BZIP2, "lzma": zipfile.ZIP_LZMA, "zstd": zipfile.ZIP_ZSTANDARD}
    for name, method in methods.items():
        with zipfile.ZipFile(at(name), "w") as archive:
            for array, blob in [*blobs.items(), ("large", large), ("constant", constant)]:
                member(archive, array + ".npy", blob, method)
        finish(at(name), python)

    # Written without seeking back: sizes behind the data.
    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w") as archive:
        for name, method in methods.items():
            member(archive, name + ".npy", blobs["embed"], method)
    with open(at("streamed-compressed"), "wb") as file:
        file.write(pipe.data)
    finish(at("streamed-compressed"), python)

    with zipfile.ZipFile(at("other-compression"), "w") as archive:
        member(archive, "stored.npy", blobs["bias"])
        member(archive, "deflate64.npy", blobs["embed"], zipfile.ZIP_BZIP2)
        member(archive, "ppmd.npy", blobs["embed"], zipfile.ZIP_LZMA)
        member(archive, "deflated.npy", blobs["embed"], zipfile.ZIP_DEFLATED)
    # Methods that neither zipfile nor this project reads: deflate64 and PPMd in both headers.
    with open(at("other-compression"), "rb") as file:
        data = bytearray(file.read())
    for signature, offset in [(b"PK\3\4", 8), (b"PK\1\2", 10)]:
        for old, new in [(zipfile.ZIP_BZIP2, 9), (zipfile.ZIP_LZMA, 98)]:
            found = data.find(signature)
            while found >= 0:
                if data[found + offset] == old:
                    data[found + offset] = new
                found = data.find(signature, found + 1)
    with open(at("other-compression"), "wb") as file:
        file.write(data)
    finish(at("other-compression"), python + ", two of them renamed to methods that it does not know")

    # Members beside the arrays; an array whose member lacks the suffix (numpy goes by the magic
    # bytes); a member with the suffix that holds something else.
    with zipfile.ZipFile(at("other-members"), "w") as archive:
        archive.comment = b"weights of a sample"
        member(archive, "README.txt", b"Not an array.\n")
        member(archive, "embed.npy", blobs["embed"])
        member(archive, "config.json", b'{"layers": 1}\n', zipfile.ZIP_DEFLATED)
        member(archive, "bare", blobs["bias"])
        member(archive, "fake.npy", b"these are not the bytes of an array")
        member(archive, "folder/", b"")
    finish(at("other-members"), python, ["README.txt", "config.json", "folder/"])


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../tests/files")
    for name, make in [("npy", npy_samples), ("npz", npz_samples)]:
        folder = os.path.join(out, name)
        os.makedirs(folder, exist_ok=True)
        make(folder)


if __name__ == "__main__":
    main()
