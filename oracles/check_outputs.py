"""Every sample written into every container, read by that container's canonical reader, compared.

    python check_outputs.py WEIGH --ggml DIR/libggml-base.so [--only RE] [--targets T,..] [--dtypes D,..] [-v]

For each sample under `tests/files`, each target and each `--dtype`: `weigh convert`, then the
canonical reader of the target (safetensors; gguf-py and ggml's own C; numpy), every tensor against
the golden of the library that wrote the sample, bit for bit, then `weigh verify` on the same pair.
A tensor that a container cannot hold must be refused by the command, for a reason this script
knows beforehand; the rest of that sample is then written without it and compared. Exit 1 when
anything differs.

Needs `requirements-containers.txt` and the library that `ggml_build.sh` makes.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import outputs_goldens
import outputs_read as read
from expect import sha256
from ggml import Ggml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHARD = "4KB"
# What a container has a name for. Everything else is refused.
SAFETENSORS = set(
    "BOOL U8 I8 I16 U16 I32 U32 I64 U64 F16 BF16 F32 F64 C64 F4 F6_E2M3 F6_E3M2 "
    "F8_E4M3 F8_E5M2 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ".split()
)
NUMPY = set("BOOL U8 I8 I16 U16 I32 U32 I64 U64 F16 F32 F64 C64 C128".split())
GGUF = set("F32 F16 BF16 F64 I8 I16 I32 I64".split())
GGUF_NAME, GGUF_RANK = 63, 4
# Findings of `inspect` for which a tensor cannot be written anywhere.
PROBLEMS = {
    "undecodable": "a block type of one program only",
    "name-encoding": "a name that is not UTF-8",
    "duplicate-name": "two tensors of one name",
}


class Difference(Exception):
    pass


class Target:
    """A container as it is written: one file or a folder of parts."""

    def __init__(self, name, out, flags, types):
        self.name, self.out, self.flags, self.types = name, out, flags, types

    def refuses(self, name, want):
        """Why this tensor cannot be in it."""
        if want.dtype is None:
            return "a type without numbers"
        if want.dtype not in self.types:
            return f"no {want.dtype} in {self.name.rstrip('/')}"
        if self.types is not SAFETENSORS and "\0" in name:
            return "a zero byte in a name"
        if self.types is GGUF and len(name.encode()) > GGUF_NAME:
            return "a name too long for gguf"
        if self.types is GGUF and len(want.shape) > GGUF_RANK:
            return "too many dimensions for gguf"
        return None


TARGETS = [
    Target("safetensors", "out.safetensors", [], SAFETENSORS),
    Target("safetensors/", "out", ["--max-shard-size", SHARD], SAFETENSORS),
    Target("gguf", "out.gguf", [], GGUF),
    Target("gguf/", "out", ["--to", "gguf", "--max-shard-size", SHARD], GGUF),
    Target("npz", "out.npz", [], NUMPY),
    Target("npy", "out.npy", [], NUMPY),
]
# Bytes first: what they prove is the golden of what follows.
DTYPES = ["keep", "auto", "f32", "f16"]


class Run:
    """One sample into one target with one type."""

    def __init__(self, check, sample, target, dtype, folder):
        self.check, self.sample, self.target, self.dtype = check, sample, target, dtype
        self.out = os.path.join(folder, target.out)
        self.compared = self.unsaid = self.tied = 0
        self.notes = []

    def row(self):
        """(compared, result, detail)"""
        try:
            return self.attempt()
        except (Difference, read.Unreadable) as error:
            return self.compared, "DIFFERS", str(error)
        except Exception as error:  # A reader of somebody else may raise anything.
            return self.compared, "DIFFERS", f"{type(error).__name__}: {error}"

    def attempt(self):
        if self.sample.stored is None and self.dtype == "keep":
            return 0, "unsaid", "only torch reads what is stored"
        wants = self.sample.wanted(self.dtype, self.check.ggml)
        reasons = {name: self.reason(name, want) for name, want in wants.items()}
        reasons = {name: why for name, why in reasons.items() if why}
        select = []
        if self.target.name == "npy":
            wants, reasons, select = self.one_weight(wants, reasons)
        result = self.convert(select)
        if result.returncode == 0 and self.only_one_program_reads():
            self.verify(select)
            return 0, "unsaid", "verified, but its block types are read by one program only"
        whole = self.whole_file_reason()
        if whole or reasons or not wants:
            because = whole or "; ".join(sorted(set(reasons.values()))) or "nothing to write"
            if result.returncode == 0:
                raise Difference(f"written, and should be refused: {because}")
            if result.returncode not in (0, 2) or result.returncode == 2 and "error:" not in result.stderr:
                raise Difference(f"exit {result.returncode}: {last_line(result.stderr)}")
            if os.path.exists(self.out):
                raise Difference("refused, and yet there is an output")
            rest = {name: want for name, want in wants.items() if name not in reasons}
            if whole or not rest or self.target.name == "npy":
                return 0, "refused", because
            self.names_a_reason(result, reasons)
            select = ["--exclude", "^(" + "|".join(map(escaped, reasons)) + ")$"]
            result, wants = self.convert(select), rest
        else:
            because = ""
        if result.returncode != 0:
            raise Difference(f"exit {result.returncode}: {last_line(result.stderr)}")
        self.compare(wants, json.loads(result.stdout))
        self.verify(select)
        notes = [f"without: {because}"] * bool(because) + [f"{self.unsaid} without a golden"] * bool(self.unsaid)
        notes += [f"{self.tied} tied"] * bool(self.tied)
        return self.compared, "partly" if because else "same", "; ".join(notes + self.notes)

    def reason(self, name, want):
        stored = (self.sample.stored or {}).get(name)
        if stored and stored.sum is None and name not in self.sample.decoded:
            return "no plain reading of it"
        if self.sample.problems.get(name) in PROBLEMS:
            return PROBLEMS[self.sample.problems[name]]
        if stored and stored.dtype in outputs_goldens.PACKED and self.dtype in ("f32", "f16"):
            return f"no cast of {stored.dtype}"
        if self.dtype == "keep" and self.target.types is GGUF:
            kind = next((kind for kind in self.check.ggml.types if kind.name == want.dtype and kind.is_block), None)
            if kind:
                whole = want.shape and want.shape[-1] % kind.elements == 0
                return None if whole else "rows that are no whole blocks"
        return self.target.refuses(name, want)

    def only_one_program_reads(self):
        """Blocks of a fork, kept as they are."""
        kept = self.dtype == "keep" and self.target.types is GGUF
        return kept and "undecodable" in self.sample.problems.values()

    def whole_file_reason(self):
        expect = self.sample.expect
        if expect.get("refused_file"):
            return expect["refused_file"]
        return "a pickle that would run " + expect["dangerous"][0] if expect.get("dangerous") else None

    def one_weight(self, wants, reasons):
        """One weight that an array file can hold, or one that it cannot."""
        holds = [name for name in wants if name not in reasons] or list(wants)[:1]
        known = [name for name in holds if wants[name].sum or wants[name].data] or holds
        names = known[:1]
        wants = {name: wants[name] for name in names}
        reasons = {name: why for name, why in reasons.items() if name in wants}
        return wants, reasons, ["--include", f"^{escaped(names[0])}$"] if names else []

    def names_a_reason(self, result, reasons):
        text = result.stderr
        types = {why.split()[1] for why in reasons.values() if why.startswith("no ")}
        if not any(shown(name) in text for name in reasons) and not any(kind in text for kind in types):
            raise Difference(f"refused without naming a tensor or a type: {last_line(text)}")

    def convert(self, select):
        flags = ["--dtype", self.dtype, *self.target.flags, *select]
        return self.check.weigh("convert", self.sample.path, "-o", self.out, "--json", *flags)

    def compare(self, wants, report):
        found = self.read()
        if self.target.name == "npy":
            found = {next(iter(wants)): found[""]}
        for name in set(wants) - set(found):
            if self.is_tied(name, wants, found, report):
                self.tied += 1
            else:
                raise Difference(f"{name} was not written")
        for name in set(found) - set(wants):
            # Of a file that only torch reads the plain tensors are not known.
            if self.sample.stored is not None or name not in self.sample.plain:
                raise Difference(f"{name} is not expected")
        for name, tensor in found.items():
            outputs_goldens.keep_bytes(tensor.data)
            self.same(name, tensor, wants.get(name))

    def is_tied(self, name, wants, found, report):
        """Tied storages are written once: the report says under which other name."""
        for entry in report["tied"]:
            text = json.dumps(entry)
            others = [other for other in found if json.dumps(other) in text]
            if json.dumps(name) in text and any(wants[other] == wants[name] for other in others):
                return True
        return False

    def same(self, name, tensor, want):
        shapes = [want.shape, want.shape or (1,)] if want and self.target.types is GGUF else [want and want.shape]
        if want is None or want.sum is None and want.data is None:
            self.unsaid += 1
            if want is None:
                return
        if tensor.dtype != want.dtype or tensor.shape not in shapes:
            raise Difference(f"{name} is {tensor.dtype} {tensor.shape}, not {want.dtype} {want.shape}")
        if want.sum is not None and sha256(tensor.data) != want.sum:
            raise Difference(f"{name}: other bytes than the golden")
        if want.data is not None and tensor.data != want.data:
            a, b = read.values(tensor), np.frombuffer(want.data, read.NUMPY[want.dtype])
            bits = f"u{a.itemsize}"
            differ = (a.view(bits) != b.view(bits)) & ~(np.isnan(a) & np.isnan(b)) if a.size == b.size else None
            if differ is None or differ.any():
                at = int(differ.argmax()) if differ is not None else 0
                raise Difference(f"{name}: element {at} is {a[at]}, the golden has {b[at]}")
        self.compared += want.sum is not None or want.data is not None

    def read(self):
        kind = self.target.name
        if kind == "safetensors":
            self.safetensors_metadata()
            return read.safetensors_file(self.out)
        if kind == "safetensors/":
            return read.safetensors_folder(self.out)
        if kind in ("npz", "npy"):
            return (read.numpy_archive if kind == "npz" else read.numpy_array)(self.out)
        if kind == "gguf":
            return self.gguf(self.out)
        return self.split()

    def gguf(self, path, first=True):
        """By both readers, which must agree."""
        native = self.native(path)
        try:
            python = read.gguf_python(path)
        except ValueError as error:
            read.is_newer_type(error)
            return native
        for name, tensor in python.items():
            if native is None:
                break
            other = native.pop(name)
            # gguf-py takes a block of Q8_1 for four bytes longer than it is.
            bytes = other.data if tensor.dtype == "Q8_1" else tensor.data
            python[name] = tensor._replace(data=bytes)
            if (tensor.dtype, read.without_leading_ones(tensor.shape), bytes) != tuple(other):
                raise read.Unreadable(f"gguf-py and ggml's C differ in {name}")
        if native:
            raise read.Unreadable(f"only ggml's C finds {sorted(native)}")
        if first:
            self.gguf_metadata(path)
        return python

    def native(self, path):
        """None where ggml's C opens the source as little: it refuses arrays of arrays, which are kept."""
        try:
            return read.gguf_c(path, self.check.ggml)
        except read.Unreadable:
            if self.sample.name not in self.check.not_by_c:
                raise
            self.notes.append("not by ggml's C, as its source")
            return None

    def gguf_metadata(self, path):
        source = self.sample.path
        if not source.endswith(".gguf") or self.sample.name in self.check.unread:
            return
        before = read.gguf_fields(source)
        after = read.gguf_fields(path)
        for key, value in before.items():
            if key in ("general.file_type", "general.alignment") or key.startswith("split."):
                continue
            if key == "general.quantization_version" and key not in after and self.dtype != "keep":
                # Nothing in it is quantized any more.
                continue
            if repr(after.get(key)) != repr(value):
                raise Difference(f"metadata {key} is {after.get(key)}, not {value}")

    def safetensors_metadata(self):
        source = self.sample.path
        if source.endswith(".safetensors"):
            after = read.safetensors_metadata(self.out)
            for key, value in read.safetensors_metadata(source).items():
                if after.get(key) != value:
                    raise Difference(f"metadata {key} is {after.get(key)!r}, not {value!r}")

    def split(self):
        """Parts as gguf's splitter numbers them; a single file where one part holds all."""
        parts = sorted(os.path.join(self.out, name) for name in os.listdir(self.out) if name.endswith(".gguf"))
        found, total = {}, len(parts)
        for number, part in enumerate(parts):
            tensors = self.gguf(part, first=number == 0)
            if set(tensors) & set(found):
                raise read.Unreadable("a tensor is in two parts")
            found |= tensors
            if total > 1 and not part.endswith(f"-{number + 1:05}-of-{total:05}.gguf"):
                raise read.Unreadable(f"part {number + 1} of {total} is called {os.path.basename(part)}")
        for number, part in enumerate(parts if total > 1 else []):
            try:
                fields = read.gguf_fields(part)
            except ValueError as error:
                read.is_newer_type(error)
                continue
            says = [fields[f"split.{key}"] for key in ("no", "count", "tensors.count")]
            wanted = [(["UINT16"], number), (["UINT16"], total), (["INT32"], len(found))]
            if says != wanted:
                raise read.Unreadable(f"part {number + 1} says {says}, not {wanted}")
        return found

    def verify(self, select):
        if self.check.no_verify:
            return
        result = self.check.weigh(
            "verify", self.out, "--against", self.sample.path, "--json", "--dtype", self.dtype, *select
        )
        if result.returncode != 0:
            text = last_line(result.stderr) or result.stdout[:200]
            raise Difference(f"verify: exit {result.returncode}: {text}")


def escaped(name):
    """A name as an expression of the command's."""
    return "".join(f"\\x{{{ord(c):x}}}" if c < " " else re.escape(c) for c in name)


def shown(name):
    """A name as the command prints it."""
    return "".join(f"\\u{{{ord(c):x}}}" if c < " " else c for c in name)


def last_line(text):
    """The error itself, without its hint."""
    lines = [line for line in text.strip().splitlines() if not line.startswith("hint:")]
    return lines[0][:300] if lines else ""


class Check:
    def __init__(self, args, ggml):
        self.command, self.no_verify, self.ggml = args.weigh, args.no_verify, ggml
        # Samples that gguf-py or ggml's C cannot open themselves.
        self.unread, self.not_by_c = set(), set()

    def weigh(self, *args):
        return subprocess.run([self.command, *args], capture_output=True, text=True, errors="replace", timeout=120)

    def rows(self, sample, targets, dtypes, folder):
        inspected = self.weigh("inspect", "--json", "--tensors", sample.path)
        if inspected.stdout:
            sample.learn(json.loads(inspected.stdout))
        if sample.path.endswith(".gguf"):
            self.learn_bytes(sample)
        for dtype in dtypes:
            for target in targets:
                place = tempfile.mkdtemp(dir=folder)
                yield target.name, dtype, *Run(self, sample, target, dtype, place).row()
                shutil.rmtree(place)

    def learn_bytes(self, sample):
        try:
            for tensor in read.gguf_python(sample.path).values():
                outputs_goldens.keep_bytes(tensor.data)
        except Exception:
            self.unread.add(sample.name)
        try:
            read.gguf_c(sample.path, self.ggml)
        except read.Unreadable:
            self.not_by_c.add(sample.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weigh")
    parser.add_argument("--ggml", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--targets", default=",".join(target.name for target in TARGETS))
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--no-verify", action="store_true", help="do not run `weigh verify`")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for every run")
    args = parser.parse_args()
    check = Check(args, Ggml(args.ggml))
    targets = [target for target in TARGETS if target.name in args.targets.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        all_samples = list(outputs_goldens.samples(ROOT, folder, re.compile(args.only)))
        job = lambda sample: (sample, list(check.rows(sample, targets, args.dtypes.split(","), folder)))
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            results = list(pool.map(job, all_samples))
    report(results, args.verbose)


def report(results, verbose):
    """The matrix, then what it comes to."""
    table, refusals = collections.defaultdict(collections.Counter), collections.Counter()
    failures = unsaid = 0
    for sample, rows in results:
        for target, dtype, compared, result, detail in rows:
            failures += result == "DIFFERS"
            unsaid += result == "unsaid"
            if verbose or result == "DIFFERS":
                print(f"{sample.name:40} {target:12} {dtype:5} {compared:4} {result:8} {detail}")
            table[target, dtype][result] += 1
            table[target, dtype]["tensors"] += compared
            if result in ("refused", "partly"):
                for why in detail.removeprefix("without: ").split("; "):
                    refusals[why] += 1
    print(f"\n{'target':12} {'dtype':5} {'tensors':>8} {'same':>6} {'partly':>7} {'refused':>8} {'differs':>8}")
    for (target, dtype), counts in table.items():
        cells = [counts[key] for key in ("tensors", "same", "partly", "refused", "DIFFERS")]
        print(f"{target:12} {dtype:5} {cells[0]:8} {cells[1]:6} {cells[2]:7} {cells[3]:8} {cells[4]:8}")
    print("\nrefused, wholly or in part, by reason:")
    for why, count in refusals.most_common():
        print(f"{count:6}  {why}")
    print(f"\n{len(results)} samples, {failures} differences, {unsaid} not to be said here")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
