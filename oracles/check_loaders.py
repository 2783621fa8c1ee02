"""Which loaders read what `weigh quantize` writes, and whether they compute what its numbers say.

    python check_loaders.py WEIGH WORK [--vllm PYTHON] [--mlx PYTHON] [--only RE] [--table]

Tiny models (`loaders_models.py`) are quantized to every type. Each loader runs the result
(`loaders_run.py`) in its own environment. `weigh dequantize` writes the same numbers unquantized, and
transformers runs these. So the error of quantization does not count: a loader agrees if its
log-probabilities are those of the decoded model, within the noise of its arithmetic.

Results are kept in WORK; a second run continues. `--table` prints the tables of docs/quantizing.md. The
exit code is 1 if the command warns about a model that transformers runs alike, or does not warn about one
that it does not.
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import loaders_table
import numpy
from loaders_models import MODELS, write

HERE = Path(__file__).parent
REPOSITORIES = (
    "bnb-nf4 bnb-nf4-nested bnb-fp4 bnb-fp4-nested bnb-int8 fp8 fp8-block fp8-tensor int8 w8a16 w4a16 w4a16-asym "
    "mxfp4 mxfp4-gpt-oss mxfp8 nvfp4 nvfp4-modelopt mlx-2bit mlx-3bit mlx-4bit mlx-5bit mlx-6bit mlx-8bit "
    "mlx-mxfp4 mlx-mxfp8 mlx-nvfp4"
).split()
FILES = (
    "F16 BF16 Q8_0 Q6_K Q5_K_M Q5_1 Q5_0 Q4_K_M Q4_1 Q4_0 IQ4_NL IQ4_XS Q3_K_M IQ3_S Q2_K TQ2_0 MXFP4_MOE MXFP4-ggml NVFP4"
).split()
# Log-probabilities differ by this part of their spread at most. bf16 arithmetic alone gives 0.015.
ALIKE = 0.025
# Where inputs are quantized, too, as the type or the loader has it. What is misread is above 0.3.
ALIKE_BY_INPUTS = 0.12
INPUTS = re.compile(r"fp8|int8|bnb-int8|[A-Z]")
# What is tried: a loader, the families, the types.
DENSE_AND_EXPERTS = "llama qwen3 gemma3 mixtral qwen3_moe".split()
FOR_MLX = [type for type in REPOSITORIES if type.startswith("mlx")]
GPT_OSS = ["mxfp4-gpt-oss"]
OTHERS = [type for type in REPOSITORIES if type not in FOR_MLX + GPT_OSS]
TRIED = [
    ("transformers", DENSE_AND_EXPERTS, OTHERS),
    ("transformers", ["llama"], FOR_MLX),
    ("transformers", ["gpt_oss"], GPT_OSS),
    ("transformers", ["llama-f16"], OTHERS),
    ("transformers", ["llama-partial"], ["fp8-block"]),
    ("vllm", ["llama", "mixtral", "gemma3", "qwen3", "qwen3_moe"], OTHERS),
    ("vllm", ["gpt_oss"], GPT_OSS),
    ("vllm", ["llama-partial"], ["fp8-block"]),
    ("mlx", DENSE_AND_EXPERTS, FOR_MLX),
    ("mlx", ["llama"], OTHERS),
    ("mlx", ["gpt_oss"], GPT_OSS),
    ("llama.cpp", DENSE_AND_EXPERTS, FILES),
]


# In which the decoded model is run: what the loader computes in.
DTYPES = {"transformers": "auto", "vllm": "auto", "mlx": "f32", "llama.cpp": "f32"}


def ran(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


class Work:
    """The folder with models and results."""

    def __init__(self, folder, weigh):
        self.folder, self.weigh = folder, weigh
        folder.mkdir(parents=True, exist_ok=True)
        # One file for each loader, so that several can be run side by side.
        self.results = {}
        for path in folder.glob("*.json"):
            self.results.update(json.loads(path.read_text()))

    def known(self, key, find):
        if key not in self.results:
            self.results[key] = find()
            first = key.split()[0]
            own = {key: value for key, value in self.results.items() if key.split()[0] == first}
            (self.folder / f"{first}.json").write_text(json.dumps(own, indent=1))
        return self.results[key]

    def source(self, family):
        folder = self.folder / "models" / family
        if not folder.exists():
            write(family, folder)
        return folder

    def report(self, family, type, *options):
        command = [self.weigh, "quantize", self.source(family), "--type", type, "--json", "-o", *options]
        return json.loads(ran(*command).stdout)

    def quantized(self, family, type):
        """The path of a model in a type, or why there is none."""
        out = self.folder / "quantized" / family / (type + ".gguf" * (type in FILES))

        def quantize():
            out.parent.mkdir(parents=True, exist_ok=True)
            report = self.report(family, type, out, "--force")
            return dict(rejected=report["error"]["message"]) if "error" in report else dict(path=str(out))

        return self.known(f"quantize {family} {type}", quantize)

    def decoded(self, family, type, dtype):
        out = self.folder / "decoded" / family / f"{type}-{dtype}"
        if not out.exists():
            out.parent.mkdir(parents=True, exist_ok=True)
            verb = "convert" if type in ("F16", "BF16") else "dequantize"
            done = ran(self.weigh, verb, self.quantized(family, type)["path"], "-o", out, "--dtype", dtype)
            assert done.returncode == 0, done.stderr
        return str(out)

    def expected(self, family, types, dtype):
        """The files with what transformers computes with the decoded models."""
        key = "decoded-" + dtype
        missing = {t: self.decoded(family, t, dtype) for t in types if f"{key} {family} {t}" not in self.results}
        for type, (_, answer) in zip(missing, run("transformers", sys.executable, missing.values())):
            self.known(f"{key} {family} {type}", lambda: answer["logits"])
        return {type: self.results[f"{key} {family} {type}"] for type in types}


def run(loader, python, paths):
    """The models, each with what a loader says of it. A model that ends the process counts as an error."""
    paths = list(paths)
    left = list(paths)
    quiet = dict(os.environ, CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    while left:
        command = [python, HERE / "loaders_run.py", loader, *left]
        with open(Path(paths[0]).parents[2] / f"{loader}.log", "a") as log:
            with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=log, text=True, env=quiet) as process:
                for line in process.stdout:
                    answer = json.loads(line)
                    yield left.pop(0), answer
        if left:
            yield left.pop(0), dict(error="the process died")


def log_probabilities(path):
    # Some loaders have more rows than there are tokens.
    rows = numpy.load(path)[:, : 320]
    rows = rows - numpy.nanmax(rows, -1, keepdims=True)
    return rows - numpy.log(numpy.nansum(numpy.exp(rows), -1, keepdims=True))


def difference(found, expected):
    """The root mean square difference of log-probabilities, relative to their spread."""
    a, b = log_probabilities(found), log_probabilities(expected)
    known = ~numpy.isnan(a)
    assert a.shape == b.shape and known.mean() > 0.8, f"{a.shape} {b.shape}"
    spread = (b - b.mean(-1, keepdims=True))[known]
    return float(numpy.sqrt(((a - b)[known] ** 2).mean() / (spread**2).mean()))


def outcome(type, answer, expected):
    if "error" in answer:
        return dict(outcome="does not load", why=answer["error"])
    value = difference(answer["logits"], expected)
    limit = ALIKE_BY_INPUTS if INPUTS.search(type) else ALIKE
    result = dict(outcome="agrees" if value <= limit else "loads", difference=value)
    return dict(result, **{key: value for key, value in answer.items() if key == "keys"})


def check(work, loader, python, families, types):
    for family in families:
        made = {type: work.quantized(family, type) for type in types}
        dtype = DTYPES[loader]
        for type in types:
            if "rejected" in made[type]:
                work.known(f"{loader} {family} {type}", lambda: dict(outcome="rejected"))
        left = [type for type in types if f"{loader} {family} {type}" not in work.results]
        if not left:
            continue
        expected = work.expected(family, left, dtype)
        for path, answer in run(loader, python, [made[type]["path"] for type in left]):
            type = next(type for type in left if made[type]["path"] == path)
            found = work.known(f"{loader} {family} {type}", lambda: outcome(type, answer, expected[type]))
            print(f"{loader:12} {family:14} {type:16} {json.dumps(found)}", flush=True)


def unjustified(work):
    """Warnings about what runs alike in transformers, and what does not without a warning."""
    for key, found in work.results.items():
        loader, family, type = key.split()
        if loader != "transformers" or type.startswith("mlx") or found["outcome"] == "rejected":
            continue
        report = work.report(family, type, work.folder / "planned", "--dry-run")
        kinds = [warning["kind"] for warning in report["warnings"]]
        expected = {"agrees": [], "loads": ["loads-wrong"], "does not load": ["will-not-load"]}[found["outcome"]]
        if kinds != expected:
            yield f"{family} {type}: {found}, but warnings are {kinds}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weigh", type=os.path.abspath)
    parser.add_argument("work", type=lambda path: Path(path).absolute())
    parser.add_argument("--vllm", help="the Python of vLLM's environment")
    parser.add_argument("--mlx", help="the Python of mlx-lm's environment")
    parser.add_argument("--only", default="", help="a pattern of loader, family and type")
    parser.add_argument("--prepare", action="store_true", help="only make the models, before loaders are run side by side")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    pythons = {"transformers": sys.executable, "llama.cpp": sys.executable, "vllm": args.vllm, "mlx": args.mlx}
    work = Work(args.work, args.weigh)
    if args.prepare:
        for loader, families, types in TRIED:
            for family, type in itertools.product(families, types):
                if "path" in work.quantized(family, type):
                    work.decoded(family, type, DTYPES[loader])
        return
    for loader, families, types in TRIED:
        for family in families:
            chosen = [type for type in types if re.search(args.only, f"{loader} {family} {type}")]
            if pythons[loader] and chosen:
                check(work, loader, pythons[loader], [family], chosen)
    if args.table:
        print(loaders_table.of(work.results))
    wrong = list(unjustified(work)) if not args.only else []
    print(*wrong, sep="\n", file=sys.stderr)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
