"""Splits models with llama.cpp's converter and with `weigh`, and compares the parts.

    python oracles/check_gguf_parts.py LLAMA_CPP WEIGH

LLAMA_CPP is a source tree of llama.cpp, whose converter runs with `--split-max-size`; WEIGH is the
command. Environment: `requirements-gguf-models.txt`. Names of parts, tensors of each part with their
bytes and their order, and metadata of each part must be equal.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

MODELS = Path(__file__).parents[1] / "tests/files/to-gguf"
FAMILIES = ("phi3", "llama-sentencepiece", "mistral", "gemma2")
# What is derived from the folder's name, which is `hf` for each of them.
FREE = ("general.name", "general.basename", "general.size_label", "general.finetune")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("llama_cpp", type=Path)
    parser.add_argument("weigh", type=Path)
    args = parser.parse_args()
    sys.path.insert(0, str(args.llama_cpp / "gguf-py"))
    wrong = 0
    for family in FAMILIES:
        # The converter counts in decimal units.
        for size in (20, 40, 10_000):
            with tempfile.TemporaryDirectory() as folder:
                problem = compare(args, MODELS / family / "hf", size, Path(folder))
            wrong += problem is not None
            print(f"{family}, {size} KB: {problem or 'equal'}")
    sys.exit(wrong > 0)


def compare(args: argparse.Namespace, model: Path, size: int, folder: Path) -> str | None:
    theirs, ours = folder / "theirs", folder / "ours"
    theirs.mkdir(), ours.mkdir()
    convert = [sys.executable, args.llama_cpp / "convert_hf_to_gguf.py", model, "--outtype", "bf16"]
    run([*convert, "--outfile", theirs / "m.gguf", "--split-max-size", f"{size}K"])
    run([args.weigh, "convert", model, "-o", ours / "m.gguf", "--dtype", "bf16", "--max-shard-size", f"{size}KB", "-q"])
    names = [sorted(path.name for path in place.iterdir()) for place in (theirs, ours)]
    if names[0] != names[1]:
        return f"other names: {names}"
    for name in names[0]:
        a, b = read(theirs / name), read(ours / name)
        if a != b:
            return f"{name} differs: {[key for key in a if a[key] != b.get(key)]}"
    return None


def run(command: list[object]) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True)


def read(path: Path) -> dict[str, object]:
    from gguf import GGUFReader

    reader = GGUFReader(path)
    entries = {key: field.contents() for key, field in reader.fields.items() if key not in FREE}
    tensors = [(t.name, t.tensor_type, t.shape.tolist(), t.data.tobytes()) for t in reader.tensors]
    return entries | {"tensors": tensors}


if __name__ == "__main__":
    main()
