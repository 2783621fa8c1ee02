"""Files that carry a pickle: compressed, in archives, as arrays of objects, between the arrays of joblib.

    python oracles/carried_pickles.py [OUT]
    python oracles/carried_pickles.py --scanners WEIGH

Files are written to OUT (tests/carried). `evil_*` call `os.system("true")` when they are loaded,
`odd_*` call nothing. Nothing is ever loaded here.

With `--scanners`, picklescan and modelscan (if installed) and `weigh inspect -q` look at each file. Every
file that one of the scanners finds must be found by weigh. What they find of these is in README.md.

Needs numpy 2.5.4, joblib 1.6.0 and Python 3.12.
"""

import bz2
import gzip
import io
import lzma
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib

import joblib
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
DEFAULT = HERE.parent / "tests" / "carried"


class Attack:
    def __reduce__(self):
        return os.system, ("true",)


def archive(path, members):
    with zipfile.ZipFile(path, "w") as file:
        for name, contents in members.items():
            file.writestr(zipfile.ZipInfo(name), contents)


def objects(attack):
    array = np.empty(2, dtype=object)
    array[0] = Attack() if attack else {"a": 1}
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


def write(out):
    for prefix, value in [("evil", {"a": np.arange(6.0), "b": Attack()}), ("odd", {"a": np.arange(6.0)})]:
        plain = pickle.dumps(value, 4)
        (out / f"{prefix}.pkl.gz").write_bytes(gzip.compress(plain, mtime=0))
        (out / f"{prefix}.pkl.bz2").write_bytes(bz2.compress(plain))
        (out / f"{prefix}.pkl.xz").write_bytes(lzma.compress(plain))
        (out / f"{prefix}.pkl.lzma").write_bytes(lzma.compress(plain, format=lzma.FORMAT_ALONE))
        (out / f"{prefix}.pkl.z").write_bytes(zlib.compress(plain))
        joblib.dump(value, out / f"{prefix}_arrays.joblib")
        joblib.dump(value, out / f"{prefix}_zlib.joblib", compress=3)
        (out / f"{prefix}_objects.npy").write_bytes(objects(prefix == "evil"))
        archive(out / f"{prefix}_objects.npz", {"w.npy": npy(), "a.npy": objects(prefix == "evil")})
        archive(out / f"{prefix}_member.zip", {"readme.txt": b"hello", "a/b.pkl": plain})
        (out / f"{prefix}_twice.pkl").write_bytes(pickle.dumps({}, 4) + plain)
    nested = io.BytesIO()
    archive(nested, {"b.pkl": pickle.dumps(Attack(), 2)})
    archive(out / "evil_nested.zip", {"inner.zip": nested.getvalue()})


def npy():
    out = io.BytesIO()
    np.save(out, np.ones(3, np.float32))
    return out.getvalue()


def found_by(words, found):
    if not shutil.which(words[0]):
        return "not installed"
    done = subprocess.run(words, capture_output=True, text=True)
    return "found" if found(done) else "-"


def scanners(weigh):
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        write(out)
        print(f"{'file':24} {'picklescan':14} {'modelscan':14} weigh")
        for path in sorted(out.iterdir()):
            row = [
                found_by(["picklescan", "-p", str(path)], lambda done: done.returncode == 1),
                found_by(["modelscan", "-p", str(path)], lambda done: done.returncode == 1),
                found_by([weigh, "inspect", "-q", str(path)], lambda done: "would run" in done.stdout),
            ]
            is_missed = row[2] == "-" and ("found" in row or path.name.startswith("evil"))
            is_false = row[2] == "found" and path.name.startswith("odd")
            failed |= is_missed or is_false
            print(f"{path.name:24} {row[0]:14} {row[1]:14} {row[2]}{' WRONG' if is_missed or is_false else ''}")
    sys.exit(failed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--scanners"]:
        scanners(sys.argv[2])
    place = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    place.mkdir(parents=True, exist_ok=True)
    write(place)
