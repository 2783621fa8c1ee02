"""Dequantized directories in transformers: the same weights and logits as the scheme's own library.

    python check_dequantized.py WEIGH [--cases RE] [--keep FOLDER]

For each case of `dequantized_cases.py` whose library is installed here: a tiny model is built and
quantized by that library, `weigh dequantize` writes a directory, and `from_pretrained` must load it
as it loads any model, without missing or unexpected keys. Its weights and its logits on fixed ids
must be those of the model that the library itself dequantizes, to the last bit. Exit 1 otherwise.
Cases whose library is not here are listed; each environment of `requirements-*.txt` runs its own.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from dequantized_cases import CASES, load

import torch

# Weights and their indexes.
OURS = re.compile(r"(model|pytorch_model).*\.(safetensors|bin|index\.json)$")
EXTRAS = {
    "README.md": "---\nlicense: mit\n---\n# A model\n",
    "LICENSE": "Permission is granted.\n",
    "chat_template.jinja": "{% for message in messages %}{{ message.content }}{% endfor %}\n",
    "notes/method.txt": "How it was made.\n",
}
# What weigh writes for itself.
MARKER = ".weigh.json"
# What is about quantization and does not outlive it.
GONE = ("quantize_config.json", "quant_config.json", "quant_log.csv", "hf_quant_config.json")


class Wrong(Exception):
    pass


def ran(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Wrong(f"weigh {command[1]}: exit {done.returncode}: {(done.stdout + done.stderr).strip()}")
    return done.stdout


def dequantized(weigh, folder, out, quantized):
    """The directory that weigh makes; of a plain model it is converted, and the other files copied."""
    if quantized:
        report = json.loads(ran(weigh, "dequantize", folder, "-o", out, "--json"))
        names = {str(p.relative_to(folder)) for p in Path(folder).rglob("*") if p.is_file()}
        said = {file["name"] for file in report["rewritten"] + report["left_behind"]} | set(report["copied"])
        silent = [name for name in names - said if not OURS.match(name)]
        if silent:
            raise Wrong(f"not in the report: {silent}")
    else:
        ran(weigh, "convert", folder, "-o", out)
        ignored = shutil.ignore_patterns("*.bin", "*.index.json")
        shutil.copytree(folder, out, dirs_exist_ok=True, ignore=ignored)
    ran(weigh, "verify", out, "--against", folder)


def check_files(folder, out):
    """Everything but the weights, their index and the config is as it was; the config lost one key."""
    before, after = (
        {str(p.relative_to(f)): p.read_bytes() for p in Path(f).rglob("*") if p.is_file() and p.name != MARKER}
        for f in (folder, out)
    )
    for name, data in before.items():
        if OURS.match(name) or name in GONE or name == "config.json":
            continue
        if after.get(name) != data:
            raise Wrong(f"{name} is {'changed' if name in after else 'gone'}")
    unknown = [name for name in after if name in GONE or name not in before and not OURS.match(name)]
    if unknown:
        raise Wrong(f"files that do not belong there: {unknown}")
    old, new = (json.loads(files["config.json"]) for files in (before, after))
    if "quantization_config" in new:
        raise Wrong("config.json still has its quantization_config")
    kept = [key for key in old if key not in ("quantization_config", "compression_config")]
    if [key for key in new if key in old] != kept:
        raise Wrong(f"keys of config.json: {list(new)}")
    for key in kept:
        if new[key] != old[key]:
            raise Wrong(f"config.json: {key} is {new[key]}, was {old[key]}")
    lines = set(before["config.json"].splitlines())
    if not all(line in lines or line + b"," in lines for line in after["config.json"].splitlines()):
        raise Wrong("lines of config.json are spelled anew")


def logits(model):
    torch.manual_seed(0)
    ids = torch.randint(3, 259, (2, 24))
    with torch.no_grad():
        return model.eval()(input_ids=ids, use_cache=False).logits


def same_bits(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


def compare(out, canonical):
    model, info = load(out, output_loading_info=True)
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs"):
        if info.get(kind):
            raise Wrong(f"{kind}: {list(info[kind])[:5]}")
    ours, theirs = model.state_dict(), canonical.state_dict()
    if set(ours) != set(theirs):
        raise Wrong(f"keys differ: {sorted(set(ours) ^ set(theirs))[:5]}")
    differ = [name for name in ours if not same_bits(ours[name], theirs[name])]
    if differ:
        name = differ[0]
        a, b = ours[name], theirs[name]
        if a.dtype != b.dtype or a.shape != b.shape:
            raise Wrong(f"{len(differ)} weights differ: {name} is {a.dtype} {tuple(a.shape)}, not {b.dtype} {tuple(b.shape)}")
        at = (a != b).flatten().nonzero()
        raise Wrong(f"{len(differ)} weights differ: {name} in {len(at)} of {a.numel()} elements, first at "
                    f"{int(at[0]) if len(at) else '-'}: {a.flatten()[at[0]] if len(at) else ''} not {b.flatten()[at[0]] if len(at) else ''}")  # fmt: skip
    ours, theirs = logits(model), logits(canonical)
    if not same_bits(ours, theirs):
        raise Wrong(f"logits differ by up to {(ours.float() - theirs.float()).abs().max()}")
    if not torch.isfinite(ours).all() or ours.std() == 0:
        raise Wrong("the logits say nothing")
    return len(differ) or len(model.state_dict()), ours


def run(case, weigh, place):
    folder, out = os.path.join(place, "model"), os.path.join(place, "out")
    case.build(folder)
    for name, text in EXTRAS.items():
        Path(folder, name).parent.mkdir(exist_ok=True)
        Path(folder, name).write_text(text)
    dequantized(weigh, folder, out, not case.name.startswith("plain"))
    check_files(folder, out)
    weights, values = compare(out, case.canonical(folder))
    files = sum(name.endswith((".safetensors", ".bin")) for name in os.listdir(folder))
    return f"{files} files, {weights} weights and {values.numel()} logits the same, {str(values.dtype)[6:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weigh")
    parser.add_argument("--cases", default="")
    parser.add_argument("--keep", help="leave the models in this folder")
    args = parser.parse_args()
    torch.set_num_threads(1)
    weigh, failures = os.path.abspath(args.weigh), 0
    keep = args.keep and os.path.abspath(args.keep)
    # Some libraries leave logs where they are run.
    os.chdir(tempfile.gettempdir())
    for case in CASES:
        if not re.search(args.cases, case.name):
            continue
        missing = case.missing()
        if missing:
            print(f"{case.name:40} not run: {missing}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as place:
            if keep:
                place = os.path.join(keep, re.sub(r"[^a-z0-9]+", "-", case.name))
                os.makedirs(place)
            try:
                print(f"{case.name:40} {run(case, weigh, place)}", flush=True)
            except Wrong as wrong:
                failures += 1
                print(f"{case.name:40} WRONG: {wrong}", flush=True)
            except Exception:
                failures += 1
                print(f"{case.name:40} FAILED\n{traceback.format_exc()}", flush=True)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
