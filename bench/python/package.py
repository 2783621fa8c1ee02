"""The Python package beside what people use today: one run, one table.

    python bench/python/package.py [--rounds N] [--only WORD] [--dir FOLDER] > RECORD.md

Runs in an interpreter that has weighbridge, numpy, ml_dtypes, safetensors and gguf. BENCH_PYTHON,
BENCH_PYTHON_BITSANDBYTES, BENCH_PYTHON_TRANSFORMERS and BENCH_PYTHON_GPTQMODEL name those that have
torch and the schemes' own libraries, as for the other benchmarks; all must be able to import
weighbridge. Contestants take turns in one process; files are in the page cache; two threads.
"""
import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import package_models as models

MIB = 1 << 20
JOBS = Path(__file__).with_name("package_jobs.py")


class Child:
    """A process that does jobs."""

    def __init__(self, python=sys.executable):
        self.process = subprocess.Popen([python, JOBS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, *job):
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{job} gave no answer")
        return json.loads(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


class Times:
    """The seconds of the rounds of one contestant."""

    def __init__(self, rounds):
        self.median, self.best, self.worst = statistics.median(rounds), min(rounds), max(rounds)

    def __str__(self):
        unit, scale = ("s", 1) if self.median >= 1 else ("ms", 1000)
        return f"{self.median * scale:.4g} {unit} ({self.best * scale:.4g} to {self.worst * scale:.4g})"


class Table:
    def __init__(self):
        print("| what | ours | beside it | its figure | ratio | demand | verdict |")
        print("|---|---|---|---|---|---|---|", flush=True)

    def row(self, what, our, peer, its, ratio, demand=None, met=None):
        verdict = "-" if met is None else "met" if met else "**MISSED**"
        ratio = ratio if isinstance(ratio, str) else f"{ratio:.2f}"
        print(f"| {what} | {our} | {peer} | {its} | {ratio} | {demand or '-'} | {verdict} |", flush=True)

    def faster(self, what, our, peer, its, least=None):
        """The peer must take at least so many times as long."""
        ratio = its.median / our.median
        demand = least and f"it takes at least {least}x as long"
        self.row(what, our, peer, its, f"{ratio:.2f} ({its.best / our.best:.2f})", demand, None if least is None else ratio >= least)

    def within(self, what, our, peer, its, most=None):
        """We may take at most so many times as long."""
        ratio = our.median / its.median
        demand = most and f"ours takes at most {most}x as long"
        self.row(what, our, peer, its, f"{ratio:.2f} ({our.best / its.best:.2f})", demand, None if most is None else ratio <= most)


def in_turns(child, rounds, *jobs):
    """Every job once in each round, after a round that does not count."""
    seconds = [[] for _ in jobs]
    for turn in range(rounds + 1):
        for job, taken in zip(jobs, seconds, strict=True):
            one = child("load", *job) if isinstance(job, tuple) else job()
            if turn:
                taken.append(one)
    return [Times(taken) for taken in seconds]


def refuse_other_values(child, one, other):
    if not child("same", one, other):
        raise RuntimeError(f"{one} and {other} load different weights")


def ran(*command):
    """The seconds of a process, which has its modules compiled, as installed ones are."""
    env = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder_of_run / "compiled")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env=env)
    return time.perf_counter() - start


def safetensors(table, folder, rounds):
    path = str(folder / "model.safetensors")
    models.bf16(path, layers=8)
    settle(path)

    def convert():
        return ran(sys.executable, "-m", "weighbridge", "convert", path, "--dtype", "f32", "--to", "safetensors", "-o", "-")

    with Child() as child:
        refuse_other_values(child, ("ours", path, "f32"), ("safetensors_numpy", path, "f32"))
        refuse_other_values(child, ("ours", path), ("safetensors_numpy", path))
        what = "load_file, BF16 as stored"
        our, theirs, copy, library = in_turns(
            child, rounds, ("ours", path), ("safetensors_numpy", path), ("copy", path, 1), ("ours_touched", path, "bf16"))
        table.faster(what, our, "safetensors.numpy.load_file", theirs)
        table.within(what, our, "copy loop into new memory", copy)
        table.within(what, our, "our reading into memory touched before", library)
        what = "load_file, BF16 to f32"
        our, theirs, copy, library, touch, to_null = in_turns(
            child, rounds, ("ours", path, "f32"), ("safetensors_numpy", path, "f32"), ("copy", path, 2),
            ("ours_touched", path, "f32"), ("touch", path, 2), convert)
        table.faster(what, our, "safetensors.numpy.load_file + astype", theirs, least=3)
        both = Times([library.median + touch.median])
        both.best, both.worst = library.best + touch.best, library.worst + touch.worst
        table.within(what, our, "the library's conversion into memory touched before, + touching as much new memory", both, most=1.2)
        table.within(what, our, "the first of these alone", library)
        table.within(what, our, "`weigh convert -o -`, thrown away, start of the process included", to_null)
        table.within(what, our, "copy loop into new memory, each byte written twice", copy)
    return path


def gguf(table, folder, rounds):
    path = str(folder / "model.gguf")
    models.q4_k(path, tensors=18)
    settle(path)
    with Child() as child:
        refuse_other_values(child, ("ours", path, "f32"), ("gguf", path, 1))
        our, one, two = in_turns(child, rounds, ("ours", path, "f32"), ("gguf", path, 1), ("gguf", path, 2))
        table.faster("load_file, GGUF Q4_K to f32", our, "gguf.dequantize, as it is", one, least=20)
        table.faster("load_file, GGUF Q4_K to f32", our, "gguf.dequantize, tensors on two threads", two, least=20)
    return path


def pth(table, folder, rounds):
    path = str(folder / "model.pth")
    python = os.environ.get("BENCH_PYTHON")
    if python is None:
        missing(table, "load_file, .pth", "torch.load", "BENCH_PYTHON")
        return None
    with Child(python) as child:
        child("make_pth", path, 5)
    settle(path)
    with Child(python) as child:
        refuse_other_values(child, ("ours_torch", path), ("torch_load", path))
        our, theirs = in_turns(child, rounds, ("ours_torch", path), ("torch_load", path))
        table.faster("torch.load_file, .pth of BF16 and F32", our, "torch.load(mmap=False)", theirs, least=1)
    return path


def schemes(table, folder, rounds):
    models.schemes(folder, layers=4)
    models.gptq(folder, weights=15)
    for name, library, variable, least in (
        ("nf4", "bitsandbytes", "BENCH_PYTHON_BITSANDBYTES", 5),
        ("fp8", "transformers_fp8", "BENCH_PYTHON_TRANSFORMERS", 5),
        ("gptq", "gptqmodel", "BENCH_PYTHON_GPTQMODEL", 5),
        # Nobody's library, so nothing is asked of it.
        ("gptq", "gptq_formula", "BENCH_PYTHON", None),
    ):
        path = str(folder / name)
        what = f"torch.load_file, {name} to the library's own type"
        if variable not in os.environ:
            missing(table, what, library, variable)
            continue
        settle(*(str(file) for file in Path(path).iterdir()))
        with Child(os.environ[variable]) as child:
            refuse_other_values(child, ("ours_torch", path), (library, path))
            our, theirs = in_turns(child, rounds, ("ours_torch", path), (library, path))
            table.faster(what, our, library, theirs, least)


def calls(table, folder, rounds):
    path = str(folder / "small.safetensors")
    models.small(path)
    with Child() as child:
        taken = [child("calls", path, 10_000) for _ in range(rounds)]
    said = {way: [turn[way] for turn in taken] for way in taken[0]}
    theirs = said.pop("safetensors")
    for way, each in said.items():
        figure = f"{statistics.median(each):.1f} us ({min(each):.1f} to {max(each):.1f})"
        its = f"{statistics.median(theirs):.1f} us"
        median = statistics.median(each)
        table.row(f"a call of {way}, 64 numbers", figure, "safetensors' get_tensor", its,
                  median / statistics.median(theirs), "ours under 50 us", median < 50)


def one_of_many(table, folder):
    path = str(folder / "hollow.safetensors")
    header, size = models.hollow(path)
    with Child() as child:
        read, result, is_mapped, seconds = child("one_of_many", path, "model.layers.150.weight")
    assert result == size and not is_mapped
    table.row(f"one weight of a {os.path.getsize(path) / 1e9:.1f} GB file, {seconds * 1000:.0f} ms", f"{read} bytes read",
              "the weight and the header", f"{size + header} bytes", read / (size + header), "nothing else", read <= size + header)


def memory(table, cases):
    """Of numpy the whole process counts; of torch, what is added to having it imported."""
    for what, python, path, job, *others in cases:
        if path is None:
            continue
        is_torch = python != sys.executable

        def highest(job):
            with Child(python) as child:
                before, after, result = child("peak", *job)
            return after - before * is_torch, before, result

        peak, before, result = highest(job)
        most = result + 64 * MIB
        its = [highest(other)[0] for other in others]
        figure = f"{peak / MIB:.0f} MiB, " + ("beyond" if is_torch else "of which") + f" {before / MIB:.0f} before"
        table.row(f"peak of {what}; the result is {result / MIB:.0f} MiB", figure,
                  *((others[0][0], f"{its[0] / MIB:.0f} MiB", its[0] / peak) if others else ("-", "-", "-")),
                  f"at most {most / MIB:.0f} MiB", peak <= most)


def starts(table, rounds):
    commands = {
        "python -c pass": ("-c", "pass"),
        "import weighbridge": ("-c", "import weighbridge"),
        "python -m weighbridge --version": ("-m", "weighbridge", "--version"),
        "import numpy": ("-c", "import numpy"),
        "import safetensors": ("-c", "import safetensors"),
    }
    run = [lambda words=words: ran(sys.executable, *words) for words in commands.values()]
    times = dict(zip(commands, in_turns(None, max(rounds, 15), *run), strict=True))
    bare = times.pop("python -c pass")
    for name in list(times)[:2]:
        table.within(name, times[name], "python -c pass", bare)
    table.within("import weighbridge", times["import weighbridge"], "import numpy", times["import numpy"])
    table.within("import weighbridge", times["import weighbridge"], "import safetensors", times["import safetensors"])


def missing(table, what, peer, variable):
    table.row(what, "-", peer, f"not there: {variable}, see bench/peers.sh", "-")


def settle(*paths):
    """On the disk, so that nothing is written while others are measured, and in the page cache."""
    os.sync()
    for path in paths:
        with open(path, "rb") as file:
            while file.read(16 * MIB):
                pass


def heading():
    import weighbridge

    with open("/proc/cpuinfo") as file:
        about = dict(line.split(":", 1) for line in file if ":" in line)
    about = {key.strip(): value.strip() for key, value in about.items()}
    print(f"# Measured on {time.strftime('%Y-%m-%d')}\n")
    print(f"CPU: {about['model name']} (family {about['cpu family']}, model {about['model']}), {os.cpu_count()} cores. "
          f"Kernel {platform.release()}. Python {platform.python_version()}. weighbridge {weighbridge.__version__}, release "
          f"build. Load before: {os.getloadavg()[0]:.2f}. Other tools: {', '.join(found_versions())}.\n")


def found_versions():
    asked = {
        None: ("numpy", "ml_dtypes", "safetensors", "gguf"),
        "BENCH_PYTHON": ("torch",),
        "BENCH_PYTHON_BITSANDBYTES": ("bitsandbytes",),
        "BENCH_PYTHON_TRANSFORMERS": ("transformers",),
        "BENCH_PYTHON_GPTQMODEL": ("gptqmodel",),
    }
    for variable, names in asked.items():
        if variable is not None and variable not in os.environ:
            continue
        with Child(os.environ[variable] if variable else sys.executable) as child:
            for name, version in child("versions", *names).items():
                yield f"{name} {version or 'is missing'}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--dir")
    asked = parser.parse_args()
    global folder_of_run
    folder = folder_of_run = Path(tempfile.mkdtemp(prefix="package-", dir=asked.dir))
    wants = lambda name: asked.only in name  # noqa: E731
    try:
        heading()
        print("## python-package: the Python package beside what people use today, files in the page cache, two threads\n")
        table = Table()
        paths = {}
        for name, part in (("safetensors", safetensors), ("gguf", gguf), ("pth", pth)):
            paths[name] = part(table, folder, asked.rounds) if wants(name) else None
        if wants("schemes"):
            schemes(table, folder, asked.rounds)
        if wants("calls"):
            calls(table, folder, asked.rounds)
        if wants("one"):
            one_of_many(table, folder)
        memory(table, [
            ("BF16 to f32", sys.executable, paths["safetensors"], ("ours", paths["safetensors"], "f32"),
             ("safetensors_numpy", paths["safetensors"], "f32")),
            ("Q4_K to f32", sys.executable, paths["gguf"], ("ours", paths["gguf"], "f32"), ("gguf", paths["gguf"], 1)),
            (".pth, numpy", sys.executable, paths["pth"], ("ours", paths["pth"])),
            (".pth, torch", os.environ.get("BENCH_PYTHON"), paths["pth"], ("ours_torch", paths["pth"]),
             ("torch_load", paths["pth"])),
        ])
        if wants("starts"):
            starts(table, asked.rounds)
        print(f"\n- Times are the median of {asked.rounds} rounds (best to worst), contestants in turns, after one that does "
              "not count; a ratio is of medians (of the best). Before that all of them were seen to load the same weights, bit for bit.")
        print(f"- Load after: {os.getloadavg()[0]:.2f}.")
    finally:
        shutil.rmtree(folder)


main()
