"""Configs as published repositories have them, and the metadata that llama.cpp's converter makes of each.

    python oracles/gguf_configs.py LLAMA_CPP tests/files [FAMILY ..]

No weights: each config is converted alone (the tokenizer is left out too). What a config does not say
is filled in from the classes of transformers, and that is what these are for. `configs/FAMILY.json` holds
configs (those of the entries in `families`) and entries. Without families, `to-gguf/names.json` is written too (what the
converter reads out of a folder's name), and `to-gguf/cards.json` (out of a model card).
"""

import json
import logging
import os
import tempfile
from pathlib import Path

import torch
from converter import CHOSEN, OUT, class_for, converting, gguf
from families import FAMILIES, all_of

NAMES = """hf model-7b Llama-2-7b-chat-hf Meta-Llama-3.1-8B-Instruct Mistral-7B-Instruct-v0.3 Mixtral-8x7B-Instruct-v0.1
Qwen2.5-7B-Instruct-1M Qwen3-30B-A3B Qwen3-8B gemma-2-9b-it gemma-3-4b-it Phi-3-mini-4k-instruct Phi-3.5-mini-instruct
phi-4 granite-3.3-2b-instruct SmolLM3-3B SmolLM2-135M-Instruct OLMo-2-1124-7B-Instruct starcoder2-3b c4ai-command-r7b-12-2024
GLM-4-9B-0414 bloom-7b1 DeepSeek-R1-Distill-Qwen-1.5B TinyLlama-1.1B-Chat-v1.0 tiny_model v2 7B-model snapshot main
Llama-3.2-1B-Instruct-q4_k_m-GGUF Yi-34B-200K mistral-small-24b-instruct-2501 stablelm-2-1_6b Nous-Hermes-2-Mixtral-8x7B-DPO
a--b-3B- X-Large-model meta-llama/Llama-2-7b-hf ./models/thing-8B ABC-iter2-v1.2 fp16-model-70B-bf16 two\u00a0words-3B \u00fcber-modell-4B""".split("\n")
NAMES = [name for line in NAMES for name in line.split(" ")] + ["A model of mine", "-", "x-13B-13B-16k"]
SIZES = [0, 1_235_814_400, 8_030_261_248]
CARDS = {
    "plain": "---\nlicense: mit\n---\n# Hello\n",
    "none": "# Hello\n\nlicense: mit\n",
    "empty": "",
    "long": "---\nlicense: other\nlicense_name: tiny-license\nlicense_link: LICENSE\nlanguage: en\npipeline_tag: text-generation\n"
    'tags:\n- a\n- "b: c"\n- \'it\'\'s\'\nlibrary_name: transformers\nextra_gated_prompt: >-\n  one\n\n  two: three\nbase_model: org/Base-7B-v0.2\n---\n',
    "named": "---\nname: My Model\nauthor: Somebody\nversion: v1.5\norganization: Org\ndescription: a model, of a kind\nfinetune: chat\n"
    "basename: base\nsize_label: 9B\nurl: https://example.com\nrepo_url: https://example.com/repo\n---\n",
    "creator": "---\nmodel_name: Other Model  # as it is called\nmodel_creator: Someone\nmodel_type: llama\nquantized_by: Nobody\n---\n",
    "lists": "---\nlanguage: [en, de,\n  fr]\nlicense: [mit, apache-2.0]\ntags: []\nbase_model:\n  - a/B-3B\n  - a/B-3B-Instruct\ndatasets:\n  - x/y-set\n  - https://huggingface.co/datasets/z\n---\n",
    "merge": "---\nbase_model:\n- https://example.com/elsewhere\n- lonely\nlanguage:\n- en\n- no\n---\n",
    "nested": "---\nlicense: mit\nmodel-index:\n- name: x\n  results:\n  - task:\n      type: text-generation\n    metrics:\n    - value: 1.5\nwidget:\n- text: 'Hi: there'\ntags:\n- end\n---\n",
}


def entries(folder, without=("general.name",)):
    with torch.inference_mode():
        converter = class_for(folder)
        one = converting(converter, folder, "bf16", os.path.join(folder, "out.gguf"))
        # Some classes have another one do it.
        one = getattr(one, "impl", one)
        one.set_vocab = lambda: None
        one.prepare_tensors()
        one.prepare_metadata(vocab_only=False)
        tensors = {
            name: info.tensor.tolist() for part in one.gguf_writer.tensors for name, info in part.items()
        }
        found = []
        for key, entry in one.gguf_writer.kv_data[0].items():
            kind = entry.type.name if entry.sub_type is None else f"{entry.type.name} {entry.sub_type.name}"
            if key not in without:
                found.append([key, kind, entry.value])
        return found, tensors


def fill(folder, name, content):
    Path(folder, name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def write(name, content):
    with open(os.path.join(OUT, name), "w", encoding="utf-8") as file:
        rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in content)
        file.write(f"[\n{rows}\n]\n")


def configs(family):
    for name, content in family.configs.items():
        with tempfile.TemporaryDirectory() as work:
            folder = os.path.join(work, "hf")
            os.makedirs(folder)
            fill(folder, "config.json", content)
            row = dict(name=name, config=content)
            if name in family.generations:
                fill(folder, "generation_config.json", family.generations[name])
                row["generation"] = family.generations[name]
            row.update({key: of[name] for key, of in (("warned", family.warned), ("beyond", family.beyond)) if name in of})
            # No tensors but those that follow from the config, so the size says nothing.
            row["entries"], row["tensors"] = entries(folder, ("general.name", "general.size_label"))
            yield row


def names():
    for name in NAMES:
        for size in SIZES:
            found = gguf.Metadata.get_model_id_components(name, size)
            title = gguf.Metadata.id_to_title(found[0])
            parts = dict(zip(["full", "organization", "basename", "finetune", "version", "size_label"], found))
            yield dict(name=name, parameters=size, title=title, **parts)


def cards():
    base = all_of("configs")["qwen2.5"]
    for name, text in CARDS.items():
        with tempfile.TemporaryDirectory() as work:
            folder = os.path.join(work, "Folder-7B-Instruct-v1")
            os.makedirs(folder)
            fill(folder, "config.json", base)
            fill(folder, "README.md", text)
            found, _ = entries(folder, ())
            yield dict(name=name, card=text, entries=[entry for entry in found if entry[0].startswith("general.")])


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    for name, family in FAMILIES.items():
        if family.configs and (not CHOSEN or name in CHOSEN):
            write(f"configs/{name}.json", configs(family))
    if not CHOSEN:
        write("to-gguf/names.json", names())
        write("to-gguf/cards.json", cards())
