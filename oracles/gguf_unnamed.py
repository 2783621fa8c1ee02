"""Vocabularies of llama.cpp's that a GGUF file may have without naming its pre-tokenizer.

    python oracles/gguf_unnamed.py LLAMA_CPP tests/files/to-gguf/unnamed.json

LLAMA_CPP/models has real vocabularies, each with the name that llama.cpp's converter gave it. Of each only
those tokens are kept that the converter's test text can need: what it makes of that text stays the same,
since tokens keep their ids and merges their order.
"""

import ast
import json
import sys
from pathlib import Path

llama_cpp, out = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(llama_cpp / "gguf-py"))
import gguf  # noqa: E402

NAMES = ["command-r", "deepseek-llm", "falcon", "gpt-2", "llama-bpe", "qwen2", "starcoder"]
LONGEST = 48


def text():
    """The text, out of the converter's source."""
    for path in (llama_cpp / "conversion" / "base.py", llama_cpp / "convert_hf_to_gguf.py"):
        for line in path.read_text().splitlines() if path.exists() else []:
            name, _, value = line.strip().partition(" = ")
            if name == "chktxt":
                return ast.literal_eval(value)
    raise SystemExit("the converter has no test text")


def letters():
    """The letter of every byte in byte-level vocabularies."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + at) for at, byte in enumerate(rest)}


def needed(shown):
    return {shown[at : at + length] for at in range(len(shown)) for length in range(1, LONGEST + 1)}


def reduced(path, wanted):
    reader = gguf.GGUFReader(path)
    get = lambda key: reader.fields[key].contents() if key in reader.fields else None  # noqa: E731
    tokens, kinds = get("tokenizer.ggml.tokens"), get("tokenizer.ggml.token_type")
    special = {get(f"tokenizer.ggml.{kind}_token_id") for kind in ("bos", "eos")} - {None}
    kept = {at: token for at, token in enumerate(tokens) if token in wanted or at in special}
    texts = set(kept.values())
    merges = [merge for merge in get("tokenizer.ggml.merges") if "".join(merge.split(" ")) in texts]
    merges = [merge for merge in merges if set(merge.split(" ")) <= texts]
    return {
        "name": get("tokenizer.ggml.pre"),
        "architecture": get("general.architecture"),
        "bos": get("tokenizer.ggml.bos_token_id"),
        "eos": get("tokenizer.ggml.eos_token_id"),
        "count": len(tokens),
        "tokens": [[at, token, int(kinds[at])] for at, token in kept.items()],
        "merges": merges,
    }


def main():
    table = letters()
    wanted = needed("".join(table[byte] for byte in text().encode()))
    found = [reduced(llama_cpp / "models" / f"ggml-vocab-{name}.gguf", wanted) for name in NAMES]
    lines = (json.dumps(one, ensure_ascii=True, separators=(",", ":")) for one in found)
    out.write_text("[\n" + ",\n".join(lines) + "\n]\n")


main()
