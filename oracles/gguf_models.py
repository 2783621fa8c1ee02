"""Tiny repositories of each family, and the GGUF files that llama.cpp's converter makes of them.

    python oracles/gguf_models.py LLAMA_CPP tests/files/to-gguf [FOLDER ..]

LLAMA_CPP is the source tree with convert_hf_to_gguf.py in it (`ggml_build.sh DIR` leaves it in
DIR/src/vendor/llama.cpp). What is made is said by the entries in `families`. Every parameter is random, norms
and biases too. A vocabulary of 300 tokens has no hash that the converter knows, so that one question is
answered for it; everything else it does itself, tokenizers included.
"""

import importlib.metadata
import json
import logging
import os
import shutil

import gguf_vocabularies as vocabularies
import torch
from converter import CHOSEN, OUT, class_for, converting, source
from families import all_of
from provenance import record_inside
from tiny_models import build

COMMON = dict(
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=1,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    pad_token_id=None,
)


def tokens(folder):
    """One more than the largest id that a token has."""
    path = os.path.join(folder, "tokenizer.json")
    if os.path.exists(path):
        tokenizer = json.load(open(path, encoding="utf-8"))
        known = tokenizer["model"]["vocab"]
        if isinstance(known, list):
            return max(len(known), *(token["id"] for token in tokenizer["added_tokens"])) + 1
        ids = [*known.values(), *(token["id"] for token in tokenizer["added_tokens"])]
        return max(ids) + 1
    path = os.path.join(folder, "qwen.tiktoken")
    if os.path.exists(path):
        # The special tokens behind them are in no file.
        return len(open(path).readlines()) + 208
    path = os.path.join(folder, "tokenizer.jsonl")
    if os.path.exists(path):
        return len(open(path, encoding="utf-8").readlines()) + 1
    paths = [os.path.join(folder, name) for name in ("tokenizer.model", "spiece.model")]
    path = next((path for path in paths if os.path.exists(path)), None)
    if path is None:
        return 0
    model = vocabularies.sentencepiece.ModelProto.FromString(open(path, "rb").read())
    return max(len(model.pieces) + 1, 298 if os.path.exists(os.path.join(folder, "added_tokens.json")) else 0)


def convert(folder, out, type, pre, hparams=None, without_next=False, mend=None, only_next=False):
    with torch.inference_mode():
        given = {} if hparams is None else dict(hparams=dict(hparams))
        converter = class_for(folder, hparams, mend)
        if pre is not None:
            converter.get_vocab_base_pre = lambda self, tokenizer: pre
        converter.no_mtp, converter.mtp_only = without_next, only_next
        converting(converter, folder, type, out, **given).write()


def save(one, hf, ids, rows):
    """Has transformers write a repository."""
    model = build(one.model, {**COMMON, **ids, **one.settings, "vocab_size": rows}, one.dtype)
    model.save_pretrained(hf)
    for step in one.steps:
        step(hf)
    version = importlib.metadata.version("transformers")
    generation = {**ids, **one.sampling, "transformers_version": version}
    vocabularies.write_json(hf, "generation_config.json", generation, indent=2)
    return f"transformers {version}", None


def lay_out(one, hf, rows):
    """Writes one that transformers does not know. The converter is given its config as it is."""
    one.laid_out(hf, rows)
    said = json.load(open(os.path.join(hf, "config.json")))
    # The converter does this where it reads a config itself.
    if "language_config" in said:
        said["text_config"] = said["language_config"]
    return "laid out after a published repository", said


def make(name, one):
    folder = os.path.join(OUT, name)
    shutil.rmtree(folder, ignore_errors=True)
    hf = os.path.join(folder, "hf")
    os.makedirs(hf)
    ids = one.tokenizer(hf)
    rows = tokens(hf) + one.spare
    writer, hparams = lay_out(one, hf, rows) if one.laid_out else save(one, hf, ids, rows)
    for type in one.types:
        convert(hf, os.path.join(folder, f"model-{type}.gguf"), type, one.pre, hparams, one.without_next, one.mend)
    if one.next_apart:
        out = [os.path.join(folder, name) for name in ("without-next.gguf", "next.gguf")]
        convert(hf, out[0], one.types[0], one.pre, hparams, True, one.mend)
        convert(hf, out[1], one.types[0], one.pre, hparams, False, one.mend, True)
    for step in one.unread:
        step(hf)
    record_inside(folder, *source(one.mend), writer)


if __name__ == "__main__":
    logging.disable(logging.INFO)
    known = all_of("to_gguf")
    for name in CHOSEN or known:
        make(name, known[name])
        print(name)
