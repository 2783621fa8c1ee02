"""Runs `weigh inspect` over the real weight files that `real_files.py` fetched and prints a Markdown table.

    try_real_files.py FOLDER WEIGH [--torch]

With --torch, every PyTorch file that torch itself reads with weights_only=True is compared with
what weigh lists: names, shapes, and the bytes at the offsets it gives.
"""
import collections
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
WRAPPERS = ("state_dict", "model_state_dict", "model", "module")


def files(folder):
    for entry in json.load(open(os.path.join(HERE, "real_files.json"))):
        base = os.path.join(folder, f"{entry['package']}-{entry['version']}")
        path = os.path.join(base, entry["path"])
        if not os.path.exists(path):
            name = entry["path"].rsplit("/", 1)[-1]
            found = [os.path.join(d, f) for d, _, names in os.walk(base) for f in names if f == name]
            path = found[0] if found else None
        if path:
            yield entry, path


def inspect(weigh, path):
    done = subprocess.run([weigh, "inspect", "--json", "--tensors", path], capture_output=True, text=True)
    report = json.loads(done.stdout) if done.returncode < 2 else None
    return (report[0] if isinstance(report, list) else report), done.stderr


def flatten(value, prefix, tensors, kind):
    if isinstance(value, kind):
        tensors.append((prefix, value))
    elif isinstance(value, dict):
        for key, inner in value.items():
            flatten(inner, f"{prefix}.{key}" if prefix else str(key), tensors, kind)
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            flatten(inner, f"{prefix}.{index}" if prefix else str(index), tensors, kind)


def compare(path, report):
    """What torch reads differently; None if torch does not read the file."""
    import torch

    try:
        value = torch.load(path, weights_only=True, map_location="cpu")
    except Exception:
        return None
    tensors = []
    flatten(value, "", tensors, torch.Tensor)
    ours = {tensor["name"]: tensor for tensor in report["tensors"]}
    data = open(path, "rb").read()
    differences = []
    for name, tensor in tensors:
        name = name or os.path.basename(path).rsplit(".", 1)[0]
        names = [name] + [name[len(w) + 1:] for w in WRAPPERS if name.startswith(w + ".")]
        found = next((ours[n] for n in names if n in ours), None)
        if found is None or found["shape"] != list(tensor.shape):
            differences.append(name)
            continue
        part = found["parts"][0]
        if part["offset"] is not None:
            raw = tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
            if data[part["offset"]:part["offset"] + part["bytes"]] != raw:
                differences.append(name)
    return differences


def main():
    folder, weigh = sys.argv[1:3]
    with_torch = "--torch" in sys.argv
    print("| package | file | kind | read as | tensors | parameters | findings |\n|---|---|---|---|---|---|---|")
    equal = unequal = 0
    for entry, path in sorted(files(folder), key=lambda pair: (pair[0]["kind"], pair[0]["package"], pair[1])):
        report, errors = inspect(weigh, path)
        head = f"| {entry['package']} {entry['version']} | {os.path.basename(path)} | {entry['kind']} |"
        if report is None:
            reason = errors.split("\n")[0].split(os.path.basename(path) + ": ")[-1]
            print(head, f"refused | | | {reason.replace('|', '/')} |")
            continue
        kinds = collections.Counter(problem["kind"] for problem in report["problems"])
        listed = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        print(head, f"{report['format']} | {report['stored_tensors']} | {report['parameters']} | {listed} |")
        if with_torch and entry["kind"].startswith("torch-"):
            differences = compare(path, report)
            equal += differences == []
            unequal += bool(differences)
            if differences:
                print(f"{path}: torch reads differently: {differences[:5]}", file=sys.stderr)
    if with_torch:
        print(f"\nPyTorch files that torch reads too: {equal} equal, {unequal} different.")


main()
