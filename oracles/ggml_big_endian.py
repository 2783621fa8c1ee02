"""Checks the byte order of every block type on an emulated big-endian machine.

Usage: python ggml_big_endian.py DIR    (the folder ggml_build.sh was given)

Needs s390x-linux-gnu-gcc, its g++ and qemu-s390x. ggml quantizes the same weights here and there;
the blocks must differ by exactly the swaps of `WORDS` in `ggml_blocks.py`. Then ggml there must
find in `blocks-big-endian.gguf` what ggml here finds in `blocks.gguf`. Writes nothing.
"""

import glob
import os
import subprocess
import sys

import numpy as np

from ggml import Ggml
from ggml_blocks import HERE, swapped, weights

# Floats are evaluated as floats and never fused, as on x86-64.
FLAGS = "-O2 -ffp-contract=off -fexcess-precision=fast -DNDEBUG -D_GNU_SOURCE".split()


def build(folder):
    source = os.path.join(folder, "src/vendor/llama.cpp/ggml")
    objects = os.path.join(folder, "s390x")
    os.makedirs(objects, exist_ok=True)
    include = [f"-I{folder}/objects", f"-I{source}/include", f"-I{source}/src"]
    names = "ggml.c ggml-alloc.c ggml-quants.c ggml.cpp ggml-backend.cpp ggml-backend-meta.cpp ggml-opt.cpp"
    paths = [f"{source}/src/{name}" for name in f"{names} ggml-threading.cpp gguf.cpp".split()]
    for path in [*paths, os.path.join(HERE, "ggml_big_endian.c")]:
        compiler = ["g++", "-std=c++17"] if path.endswith("pp") else ["gcc", "-std=c11"]
        compiler[0] = "s390x-linux-gnu-" + compiler[0]
        out = os.path.join(objects, os.path.basename(path) + ".o")
        subprocess.run([*compiler, *FLAGS, *include, "-c", path, "-o", out], check=True)
    program = os.path.join(folder, "ggml-big-endian")
    link = ["s390x-linux-gnu-g++", "-static", *sorted(glob.glob(objects + "/*.o")), "-lm", "-lpthread"]
    subprocess.run([*link, "-o", program], check=True, stderr=subprocess.DEVNULL)
    return program


def run(program, *arguments, data=None):
    command = ["qemu-s390x", program, *map(str, arguments)]
    return subprocess.run(command, input=data, check=True, capture_output=True).stdout


def main():
    folder = os.path.abspath(sys.argv[1])
    ggml = Ggml(os.path.join(folder, "libggml-base.so"))
    program = build(folder)
    random = np.random.default_rng(5)
    wrong = 0
    for kind in (kind for kind in ggml.types if kind.is_block):
        rows, columns = 4, 2 * kind.elements
        values = weights(random, rows, columns)
        importance = (0.5 + random.random(columns)).astype(np.float32)
        here = swapped(kind, ggml.quantize(kind, values, importance).tobytes())
        data = values.astype(">f4").tobytes() + importance.astype(">f4").tobytes()
        there = run(program, kind.number, rows, columns, data=data)
        blocks = [np.frombuffer(side, np.uint8).reshape(-1, kind.bytes) for side in (here, there)]
        differ = np.count_nonzero((blocks[0] != blocks[1]).any(axis=1))
        wrong += differ
        print(kind.name, "as stored there" if not differ else f"{differ} of {len(blocks[0])} blocks differ")
    files = os.path.join(HERE, "..", "tests", "files", "ggml")
    found = [line.split() for line in run(program, files + "/blocks-big-endian.gguf").decode().splitlines()]
    here = list(ggml.read(files + "/blocks.gguf"))
    assert [(f[0], int(f[1]), int(f[6])) for f in found] == [(n, k.number, len(d)) for n, k, _, d in here]
    sys.exit(1 if wrong else 0)


main()
