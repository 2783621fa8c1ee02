"""Whether a GGUF file says what its repository says, one setting at a time, and whether `weigh convert` warns where not.

    python oracles/check_settings.py LLAMA_CPP WORK WEIGH [FAMILY ..]

LLAMA_CPP is the source tree with convert_hf_to_gguf.py in it, WORK a folder for models, WEIGH the command. Each row of
`settings_cases.py` becomes a repository of random weights. transformers runs it in float32; llama.cpp runs what WEIGH
and what the converter make of it; log-probabilities are compared. The rows go to `settings/FAMILY.tsv` beside this file.
Exits with 1 if WEIGH is wrong: a file that differs or does not load without a warning, a warning about a file that
agrees, a refusal of what would run.
"""

import copy
import dataclasses
import json
import logging
import os
import pickle
import subprocess
import sys
import warnings

os.environ["TQDM_DISABLE"] = "1"
import numpy  # noqa: E402
import torch  # noqa: E402
from converter import CHOSEN, OUT  # noqa: E402
from families import all_of  # noqa: E402
from family_blocks import ABSENT  # noqa: E402
from gguf_models import convert  # noqa: E402
from safetensors import safe_open  # noqa: E402
from settings_cases import CASES, SKIPPED  # noqa: E402
from settings_models import build, of_transformers, save, vocabulary_of  # noqa: E402
from settings_rows import SIZES  # noqa: E402

import transformers  # noqa: E402

WEIGH = os.path.abspath(CHOSEN[0])
TABLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "settings")
TOKENS = [int(token) for token in numpy.random.default_rng(1).integers(5, 256, 48)]
# What agrees differs by 1e-5, and by 4e-3 where GELU comes from llama.cpp's table in half precision.
TOLERANCE = 5e-3
FIELDS = ["family", "key", "value", "result", "difference", "baseline", "effect", "warned", "verdict", "message"]
FIELDS += ["converter", "converter_difference", "converter_message"]


class Runner:
    """llama.cpp in a process of its own, which it may end."""

    process = None

    def start(self):
        self.log = os.path.join(OUT, "llama.log")
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "llama_cpp.py")
        environment = dict(os.environ, GGML_NO_BACKTRACE="1")
        with open(self.log, "wb") as log:
            pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
            self.process = subprocess.Popen([sys.executable, script], env=environment, **pipes)

    def last_words(self):
        code = self.process.wait()
        with open(self.log, errors="replace") as log:
            lines = [line.strip() for line in log if "ASSERT" in line or "what()" in line]
        return "aborts: " + (lines[-1].split("/")[-1] if lines else f"signal {-code}")

    def run(self, path, tokens, embed):
        """Rows of numbers, or why there are none."""
        if self.process is None or self.process.poll() is not None:
            self.start()
        pickle.dump((path, tokens, embed), self.process.stdin)
        self.process.stdin.flush()
        try:
            return pickle.load(self.process.stdout)
        except EOFError:
            return self.last_words()


RUNNER = Runner()


def log_softmax(rows):
    rows = rows.astype(numpy.float64)
    rows = rows - rows.max(-1, keepdims=True)
    return rows - numpy.log(numpy.exp(rows).sum(-1, keepdims=True))


def distance(a, b, embed):
    width = min(a.shape[1], b.shape[1])
    a, b = (rows[:, :width] if embed else log_softmax(rows[:, :width]) for rows in (a, b))
    return float(numpy.abs(a - b).max())


@dataclasses.dataclass
class Outcome:
    """`agrees`, `differs`, `does not load` or `refused`."""

    result: str
    difference: float | None = None
    message: str = ""


@dataclasses.dataclass
class Wanted:
    """What transformers says of a repository's tokens."""

    tokens: list
    rows: numpy.ndarray
    # Whether these are hidden states and not logits.
    embed: bool
    # By how much the baseline differs.
    base: float

    def judge(self, path):
        found = RUNNER.run(path, self.tokens, self.embed)
        if isinstance(found, str):
            return Outcome("does not load", message=found)
        difference = distance(found, self.rows, self.embed)
        if not numpy.isfinite(difference):
            return Outcome("differs", float("inf"), "not finite")
        # A baseline that differs itself is no excuse for what follows.
        limit = max(TOLERANCE, min(3 * self.base, 4 * TOLERANCE))
        return Outcome("agrees" if difference < limit else "differs", difference)


def weigh(folder, out, *more):
    """The exit code and the report."""
    command = [WEIGH, "convert", folder, "-o", out, "--dtype", "f32", "--force", "--json", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        return done.returncode, dict(error=dict(message=done.stderr.strip()))


def of_weigh(folder, out, wanted):
    """What becomes of WEIGH's file, its warnings, and what becomes of a file that it refuses to write."""
    code, report = weigh(folder, out)
    found = report.get("warnings", [])
    if code == 0:
        return wanted.judge(out), found, None
    refused = Outcome("refused", message=(report.get("error") or {}).get("message", ""))
    code, _ = weigh(folder, out, "--allow-lossy-config")
    return refused, found, wanted.judge(out) if code == 0 else None


def of_converter(folder, out, entry, wanted):
    try:
        convert(folder, out, "f32", entry.pre, None, entry.without_next, entry.mend)
    except BaseException as error:
        return Outcome("refused", message=f"{type(error).__name__}: {error}")
    return wanted.judge(out)


def shapes(folder):
    with safe_open(os.path.join(folder, "model.safetensors"), "pt") as file:
        return {name: file.get_slice(name).get_shape() for name in file.keys()}


def verdict(row, outcome, lossy, converter):
    if outcome.result == "refused":
        runs = any(one and one.result == "agrees" for one in (lossy, converter))
        return "needless refusal" if runs else "right"
    if outcome.result != "agrees":
        return "right" if row["warned"] else "no warning"
    if not row["warned"]:
        return "right"
    # What changes little is a matter of taste: neither is wrong.
    return "right" if 0 < (row.get("effect_size") or 0) < TOLERANCE else "needless warning"


class Family:
    """One family's rows, each compared with the baseline and with the row that it adds something to."""

    def __init__(self, name):
        self.name, self.cases = name, CASES[name]
        self.entry = all_of("to_gguf")[self.cases.like]
        if self.cases.steps is not None:
            self.entry = dataclasses.replace(self.entry, steps=self.cases.steps, without_next=True)
        self.base = os.path.join(OUT, name + "-base")
        self.depth = {**SIZES, **self.cases.settings}["num_hidden_layers"]
        self.said, self.base_difference, self.base_warnings, self.known = {}, None, [], None

    def path(self, end):
        return os.path.join(OUT, self.name + end)

    def make(self, settings, folder):
        self.known = self.known or vocabulary_of(self.entry, folder)
        merged = {**SIZES, **self.known, **self.cases.settings, **settings}
        said = {key: copy.deepcopy(value) for key, value in merged.items() if value is not ABSENT}
        save(build(self.entry.model, said, self.cases.less_one), self.entry, folder)
        embed = self.cases.embed
        tokens = [5 + token % (self.known["vocab_size"] - 5) for token in TOKENS]
        # Rounding adds up with the layers.
        base = (self.base_difference or 0) * merged["num_hidden_layers"] / self.depth
        wanted = Wanted(tokens, of_transformers(folder, tokens, embed), embed, base)
        if not numpy.isfinite(wanted.rows).all():
            raise ValueError("transformers' own output is not finite")
        return wanted

    def effect(self, key, folder, wanted):
        """How much a setting changes what transformers says; None if the weights are others."""
        if shapes(self.base) != shapes(folder):
            return None
        parent = next((one for one in self.said if one and key.startswith(one + " ")), "")
        return distance(wanted.rows, self.said[parent], self.cases.embed)

    def compare(self, key, folder, wanted):
        row = {}
        if key in ("baseline", "rope yarn"):
            self.said.setdefault("" if key == "baseline" else key, wanted.rows)
        if key != "baseline":
            row["effect_size"] = self.effect(key, folder, wanted)
            row["effect"] = "other weights" if row["effect_size"] is None else row["effect_size"]
        ours, found, lossy = of_weigh(folder, self.path(".gguf"), wanted)
        theirs = of_converter(folder, self.path("-converter.gguf"), self.entry, wanted)
        row["warned"] = ", ".join(str(one.get("key")) for one in found if one not in self.base_warnings)
        if key == "baseline":
            self.base_difference, self.base_warnings = ours.difference, found
        row.update(baseline=self.base_difference, verdict=verdict(row, ours, lossy, theirs), **dataclasses.asdict(ours))
        if lossy:
            row["message"] += f" (written nevertheless: {lossy.result} {lossy.message})"
        row.update(converter=theirs.result, converter_difference=theirs.difference, converter_message=theirs.message)
        return row

    def check(self, key, value, settings):
        folder = self.path("-hf") if key != "baseline" else self.base
        row = dict(family=self.name, key=key, value=value)
        try:
            wanted = self.make(settings, folder)
        except Exception as error:
            return dict(row, result="not built", message=f"{type(error).__name__}: {error}")
        return dict(row, **self.compare(key, folder, wanted))

    def rows(self):
        for key, value, settings in [("baseline", "", {}), *self.cases.rows]:
            yield {field: text(one) for field, one in self.check(key, value, settings).items()}


def text(value):
    if value is None:
        return ""
    return f"{value:.0e}" if isinstance(value, float) else " ".join(str(value).split())[:200]


def line(row):
    return "\t".join(row.get(field, "") for field in FIELDS)


def store(name, lines):
    with open(os.path.join(TABLES, name + ".tsv"), "w", encoding="utf-8") as file:
        file.write("\n".join(["\t".join(FIELDS), *lines]) + "\n")


def quiet():
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)


def main():
    quiet()
    os.makedirs(OUT, exist_ok=True)
    wrong, count = 0, 0
    for name, reason in SKIPPED.items():
        print(f"skipped: {name}, {reason}")
    for name in CHOSEN[1:] or CASES:
        lines = []
        for row in Family(name).rows():
            lines.append(line(row))
            count += 1
            bad = row.get("verdict", "") not in ("", "right")
            wrong += bad
            print(("! " if bad else "  ") + "  ".join(row.get(field, "") for field in FIELDS[:10]), flush=True)
        store(name, lines)
    print(f"{count} rows, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
