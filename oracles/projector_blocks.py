"""What the entries in `projectors` are made of, and what several of them have in common."""

import dataclasses
import json
import os
from collections.abc import Callable

import torch
from family_blocks import numbers
from gguf_vocabularies import write_json
from safetensors.torch import load_file, save_file

# A language model that is there to be left out.
TEXT = dict(
    hidden_size=16,
    intermediate_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=8,
    max_position_embeddings=64,
)
HALVES = dict(image_mean=[0.5, 0.5, 0.5], image_std=[0.5, 0.5, 0.5])
CLIP_COLOURS = dict(
    image_mean=[0.48145466, 0.4578275, 0.40821073],
    image_std=[0.26862954, 0.26130258, 0.27577711],
)


@dataclasses.dataclass
class Golden:
    """A folder in `tests/files/to-mmproj`: a whole repository, and the projector that the converter makes of it."""

    # Makes a model of the settings of its tokenizer: the number of ids as `vocab_size`, and named ids. None if the
    # repository is laid out by hand.
    model: Callable | None
    # Writes the files of a tokenizer into a folder, and returns the ids that configs name.
    tokenizer: Callable
    # Files beside the weights, by their names: what preprocessor_config.json says, and others.
    processor: dict | None = None
    files: dict = dataclasses.field(default_factory=dict)
    # Of the checkpoint and of the GGUF files.
    dtype: str = "bfloat16"
    types: list = dataclasses.field(default_factory=lambda: ["f16"])
    # What is done to the saved repository: functions of its folder.
    steps: list = dataclasses.field(default_factory=list)
    # Writes config and weights, given a folder and the number of ids, where transformers does not know them.
    laid_out: Callable | None = None
    # What makes the converter's class do what it means to.
    mend: Callable | None = None
    # What the config says that the converter is to see, if it is not what transformers reads.
    as_stated: bool = False


def config_of(folder):
    return json.load(open(os.path.join(folder, "config.json")))


def with_config(**changes):
    """A step that changes the config: values at the top, None to remove one."""

    def step(folder):
        config = config_of(folder)
        for key, value in changes.items():
            if value is None:
                config.pop(key, None)
            else:
                config[key] = value
        write_json(folder, "config.json", config, indent=2)

    return step


def with_part(part, **changes):
    """The same in a part of the config."""

    def step(folder):
        config = config_of(folder)
        for key, value in changes.items():
            if value is None:
                config[part].pop(key, None)
            else:
                config[part][key] = value
        write_json(folder, "config.json", config, indent=2)

    return step


def renamed(*pairs):
    """A step that names tensors in another way: (start, other start)."""

    def step(folder):
        path = os.path.join(folder, "model.safetensors")
        tensors = {}
        for name, tensor in load_file(path).items():
            for start, other in pairs:
                if name.startswith(start):
                    name = other + name[len(start) :]
                    break
            tensors[name] = tensor
        save_file(tensors, path, metadata={"format": "pt"})

    return step


def with_buffers(folder):
    """A step that gives numbers to buffers, which transformers leaves as they were made."""
    path = os.path.join(folder, "model.safetensors")
    tensors = load_file(path)
    generator = torch.Generator().manual_seed(len(tensors))
    for name, tensor in tensors.items():
        if name.rpartition(".")[2] in BUFFERS or ".std_" in name:
            tensors[name] = numbers(list(tensor.shape), generator).to(tensor.dtype)
    save_file(tensors, path, metadata={"format": "pt"})


BUFFERS = ["input_max", "input_min", "output_max", "output_min", "per_dim_scale"]

# Before transformers 5.20, what is `vision_tower.` now had one more module in it.
published_siglip = renamed(("vision_tower.", "vision_tower.vision_model."))


def laid_out(config, shapes, dtype="bfloat16"):
    """Lays out a repository by hand: what its config says, and the shapes of its weights, both functions of the
    number of ids."""

    def write(folder, rows):
        write_json(folder, "config.json", config(rows), indent=2)
        generator = torch.Generator().manual_seed(len(shapes(rows)))
        random = lambda shape: numbers(shape, generator).to(getattr(torch, dtype))  # noqa: E731
        tensors = {name: random(shape) for name, shape in shapes(rows).items()}
        save_file(tensors, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})

    return write


def shapes_of(make, prefix):
    """The shapes of the weights of a module of transformers, which a function makes."""
    with torch.device("meta"):
        weights = make().state_dict()
    return {prefix + name: list(weight.shape) for name, weight in weights.items()}


def linear(name, rows, columns, bias=True):
    found = {f"{name}.weight": [rows, columns]}
    return {**found, f"{name}.bias": [rows]} if bias else found


def norm(name, width, bias=True):
    found = {f"{name}.weight": [width]}
    return {**found, f"{name}.bias": [width]} if bias else found


def llama_text(rows, prefix="model.", head="lm_head.", hidden=16, inner=16):
    """A language model of one layer, as Llama has it."""
    layer = f"{prefix}layers.0."
    found = {f"{prefix}embed_tokens.weight": [rows, hidden], f"{prefix}norm.weight": [hidden], f"{head}weight": [rows, hidden]}
    for name, shape in dict(q_proj=[hidden, hidden], k_proj=[8, hidden], v_proj=[8, hidden], o_proj=[hidden, hidden]).items():
        found[f"{layer}self_attn.{name}.weight"] = shape
    for name, shape in dict(gate_proj=[inner, hidden], up_proj=[inner, hidden], down_proj=[hidden, inner]).items():
        found[f"{layer}mlp.{name}.weight"] = shape
    for name in ["input_layernorm", "post_attention_layernorm"]:
        found[f"{layer}{name}.weight"] = [hidden]
    return found
