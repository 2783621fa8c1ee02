"""Tiny models of each family, as transformers saves them and as llama.cpp's converter writes them.

    python oracles/names_models.py LLAMA_CPP tests/files/names [FOLDER ..]

LLAMA_CPP is the source tree with convert_hf_to_gguf.py in it (`ggml_build.sh DIR` leaves it in
DIR/src/vendor/llama.cpp). What is made is said by the entries in `families`. Every parameter is random, norms
and biases too, so that no change of order or value goes unseen. The converter refuses tokenizers that it does
not know; a vocabulary is not a weight, so a list of tokens is written in its place.
"""

import importlib.metadata
import json
import logging
import os
import shutil
import tempfile

import torch
from converter import CHOSEN, OUT, class_for, converting, gguf, source
from families import all_of
from family_blocks import TOKENS
from provenance import record_inside
from safetensors.torch import save_file
from tiny_models import build

COMMON = dict(
    hidden_size=24,
    intermediate_size=20,
    num_hidden_layers=1,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=6,
    vocab_size=TOKENS,
    max_position_embeddings=64,
    bos_token_id=0,
    eos_token_id=1,
    pad_token_id=None,
)


def vocabulary(converter):
    writer = converter.gguf_writer
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([f"t{i}" for i in range(TOKENS)])
    writer.add_token_types([gguf.TokenType.NORMAL] * TOKENS)


def convert(folder, out, one):
    with torch.inference_mode():
        converter = class_for(folder, mend=one.mend)
        converter.set_vocab = vocabulary
        converting(converter, folder, one.type, out, model_name="tiny", **one.options).write()


def save(model, one, work):
    model.save_pretrained(work)
    for step in one.steps:
        step(work)
    path = os.path.join(work, "config.json")
    with open(path) as file:
        config = json.load(file)
    with open(path, "w") as file:
        json.dump(config, file, indent=2, sort_keys=True)
        file.write("\n")
    tokens = {f"t{i}": i for i in range(TOKENS)}
    with open(os.path.join(work, "tokenizer.json"), "w") as file:
        json.dump({"model": {"vocab": tokens}, "added_tokens": []}, file)


def make(name, one):
    folder = os.path.join(OUT, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "hf"))
    model = build(one.model, {**COMMON, **one.settings}, one.dtype)
    with tempfile.TemporaryDirectory() as work:
        save(model, one, work)
        convert(work, os.path.join(folder, "model.gguf"), one)
        for kept in ["config.json", "model.safetensors"]:
            shutil.copyfile(os.path.join(work, kept), os.path.join(folder, "hf", kept))
    if one.fused:
        fused(model, folder)
    laid_out = f"; {one.laid_out}" if one.laid_out else ""
    record_inside(folder, *source(one.mend), f"transformers {importlib.metadata.version('transformers')}{laid_out}")


def fused(model, folder):
    """The same weights under the names and in the shapes that transformers 5 has in memory."""
    os.makedirs(os.path.join(folder, "fused"))
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_file(weights, os.path.join(folder, "fused", "model.safetensors"), {"format": "pt"})
    shutil.copyfile(os.path.join(folder, "hf", "config.json"), os.path.join(folder, "fused", "config.json"))


if __name__ == "__main__":
    logging.disable(logging.INFO)
    known = all_of("names")
    for name in CHOSEN or known:
        make(name, known[name])
        print(name)
