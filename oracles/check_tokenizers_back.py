"""Tokenizers that were written out of GGUF files, against the texts and ids that llama.cpp has of them.

    python oracles/check_tokenizers_back.py LLAMA_CPP DIR

LLAMA_CPP is the source tree (`ggml_build.sh DIR` leaves it in DIR/src/vendor/llama.cpp). Its
models/ggml-vocab-*.gguf are put into DIR; a folder for each, with the files of its tokenizer, comes
from a test that is run here. Every text of the vocabulary's .inp file has to give the ids of its
.out file, in transformers and in tokenizers alone. Vocabularies without these files are read, and
compared with what llama.cpp (the package xllamacpp) makes of the texts of another.

The library is told by PREPARED=1 that DIR has these folders already.
"""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
LLAMA_CPP, OUT = Path(sys.argv[1]), Path(sys.argv[2]).absolute()
ROOT = Path(__file__).resolve().parent.parent
MARK = "\n__ggml_vocab_test__\n"


def prepare():
    OUT.mkdir(parents=True, exist_ok=True)
    for path in sorted((LLAMA_CPP / "models").glob("ggml-vocab-*.gguf")):
        link = OUT / path.name.removeprefix("ggml-vocab-")
        if not link.exists():
            link.symlink_to(path)
    if os.environ.get("PREPARED") != "1":
        test = "tokenizer::back::tests::files_of_somebody_become_repositories"
        command = ["cargo", "test", "--release", "-p", "weighbridge", "--lib", "--", "--exact", test]
        subprocess.run(command, cwd=ROOT, env=os.environ | dict(TOKENIZERS_BACK=str(OUT)), check=True)


def texts_and_ids(path):
    """Texts of a vocabulary with the ids they give, if the tree has them."""
    inputs, outputs = Path(f"{path.resolve()}.inp"), Path(f"{path.resolve()}.out")
    if not inputs.exists():
        return None
    texts = inputs.read_text(encoding="utf-8").split(MARK)
    lines = outputs.read_text(encoding="utf-8").split("\n")
    return [(text, [int(one) for one in line.split()]) for text, line in zip(texts, lines)]


def check(path):
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer

    folder = path.with_suffix("")
    report = json.loads(path.with_suffix(".report.json").read_text())
    if "refused" in report:
        return f"refused: {report['refused']}"
    (folder / "config.json").write_text("{}")
    plain = Tokenizer.from_file(str(folder / "tokenizer.json"))
    auto = AutoTokenizer.from_pretrained(folder)
    pairs = texts_and_ids(path)
    if pairs is None:
        return f"loads, {len(auto)} tokens, no texts"
    wrong = []
    for text, ids in pairs:
        found = [plain.encode(text, add_special_tokens=False).ids, auto.encode(text, add_special_tokens=False)]
        if any(one != ids for one in found):
            wrong.append((text, ids, found))
    for text, ids, found in wrong[:3]:
        print("   ", repr(text)[:60], ids[:12], *(one[:12] for one in found))
    return f"{len(pairs) - len(wrong)} of {len(pairs)} texts, {report['seconds']:.2f} s, around a text: {around(auto)}"


def around(tokenizer):
    """What is added to a text."""
    with_them, without = tokenizer.encode("a"), tokenizer.encode("a", add_special_tokens=False)
    shown = ["_" if one in without else one for one in tokenizer.convert_ids_to_tokens(with_them)]
    return len(with_them) - len(without), shown[:1] + shown[-1:]


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    prepare()
    for path in sorted(OUT.glob("*.gguf")):
        print(path.stem, check(path), flush=True)
