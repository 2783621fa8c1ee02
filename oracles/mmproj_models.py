"""Tiny multimodal repositories, and the projectors (mmproj) that llama.cpp's converter makes of them.

    python oracles/mmproj_models.py LLAMA_CPP tests/files/to-mmproj [CLASS or FOLDER ..]

LLAMA_CPP is the source tree with convert_hf_to_gguf.py in it (`ggml_build.sh DIR` leaves it in
DIR/src/vendor/llama.cpp). What is made is said by the entries in `projectors`. Every parameter is random.
"""

import importlib.metadata
import json
import logging
import os
import shutil
from pathlib import Path

import gguf_vocabularies as vocabularies
import torch
from converter import CHOSEN, OUT, ModelBase, ModelType, converting, get_model_architecture, get_model_class, source
from gguf_models import tokens
from projectors import all_of
from provenance import record_inside
from tiny_models import build


def class_for(folder, hparams, mend):
    hparams = hparams or ModelBase.load_hparams(Path(folder), False)
    kind = get_model_class(get_model_architecture(hparams, ModelType.MMPROJ), mmproj=True)
    kind = type(kind.__name__, (kind,), {"model_arch": kind.model_arch})
    if mend:
        mend(kind)
    return kind


def convert(folder, out, type, one):
    with torch.inference_mode():
        stated = json.load(open(os.path.join(folder, "config.json"))) if one.as_stated else None
        kind = class_for(folder, stated, one.mend)
        given = {} if stated is None else dict(hparams=stated)
        converting(kind, folder, type, out, **given).write()


def save(one, hf, ids, rows):
    """Has transformers write a repository."""
    model = build(one.model, {**ids, "vocab_size": rows}, one.dtype)
    model.save_pretrained(hf)
    version = importlib.metadata.version("transformers")
    generation = {**ids, "transformers_version": version}
    vocabularies.write_json(hf, "generation_config.json", generation, indent=2)
    return f"transformers {version}"


def lay_out(one, hf, rows):
    one.laid_out(hf, rows)
    return "laid out after a published repository"


def make(name, one):
    folder = os.path.join(OUT, name)
    shutil.rmtree(folder, ignore_errors=True)
    hf = os.path.join(folder, "hf")
    os.makedirs(hf)
    ids = one.tokenizer(hf)
    rows = tokens(hf) + 2
    writer = lay_out(one, hf, rows) if one.laid_out else save(one, hf, ids, rows)
    if one.processor is not None:
        vocabularies.write_json(hf, "preprocessor_config.json", one.processor, indent=2)
    for file, contents in one.files.items():
        vocabularies.write_json(hf, file, contents, indent=2)
    for step in one.steps:
        step(hf)
    for type in one.types:
        convert(hf, os.path.join(folder, f"mmproj-{type}.gguf"), type, one)
    record_inside(folder, *source(one.mend), writer)
    sizes = [os.path.getsize(path) for path in Path(folder).rglob("*") if path.is_file()]
    print(f"{name}: {sum(sizes) // 1024} KiB")


if __name__ == "__main__":
    logging.disable(logging.INFO)
    os.makedirs(OUT, exist_ok=True)
    for name, one in all_of(CHOSEN).items():
        make(name, one)
