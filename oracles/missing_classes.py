"""The class names that llama.cpp's converter knows and `weigh` does not, with the reasons.

    python oracles/missing_classes.py LLAMA_CPP WEIGH

Writes `crates/weighbridge-families/src/families/missing.tsv`: a line a class, its GGUF architecture, the reason. Reasons are
written here by hand. Fails if a class has none.
"""

import json
import os
import subprocess
import sys

LLAMA_CPP, WEIGH = sys.argv[1:3]
HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "../crates/weighbridge-families/src/families/missing.tsv")
sys.path[:0] = [LLAMA_CPP, os.path.join(LLAMA_CPP, "gguf-py")]

# By class name, or by GGUF architecture.
REASONS = {}


def registered():
    """Class names and their architectures: of text models, and of projectors that no text model has."""
    import gguf
    from conversion import load_all_models
    from conversion.base import ModelBase, ModelType

    load_all_models()
    found = {}
    for kind in (ModelType.TEXT, ModelType.MMPROJ):
        for name, known in ModelBase._model_classes[kind].items():
            found.setdefault(name, gguf.MODEL_ARCH_NAMES[known.model_arch])
    return found


def known():
    report = json.loads(subprocess.run([WEIGH, "families", "--json"], check=True, capture_output=True).stdout)
    return {name for kind in ("families", "projectors") for one in report[kind] for name in one["classes"]}


def main():
    rows, bare = [], []
    have = known()
    for name, architecture in sorted(registered().items()):
        if name in have:
            continue
        reason = REASONS.get(name) or REASONS.get(architecture)
        (rows if reason else bare).append(f"{name}\t{architecture}\t{reason}")
    print(f"{len(rows)} classes are missing, {len(have)} are known")
    if bare:
        sys.exit("without a reason:\n" + "\n".join(bare))
    with open(OUT, "w", encoding="utf-8") as file:
        file.write("".join(f"{row}\n" for row in rows))


if __name__ == "__main__":
    main()
