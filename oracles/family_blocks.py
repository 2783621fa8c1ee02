"""What the entries in `families` are made of: what an entry says, what several families have in common, and
steps that change a saved model.
"""

import dataclasses
import json
import os
from collections.abc import Callable

import torch
from gguf_vocabularies import write_json
from safetensors.torch import load_file, save_file

# In settings: transformers is not told this size.
ABSENT = object()
# The number of tokens in `names`, which has no tokenizers.
TOKENS = 24


@dataclasses.dataclass
class Tiny:
    """A folder in `tests/files/names`: a model as transformers saves it and as the converter writes it."""

    # Beside the sizes in names_models.py.
    settings: dict
    # Of the checkpoint and of the GGUF file.
    dtype: str = "bfloat16"
    type: str = "bf16"
    # If it is not the family's.
    model: str | Callable | None = None
    # Of the converter.
    options: dict = dataclasses.field(default_factory=dict)
    # What is done to the saved model: functions of its folder.
    steps: list = dataclasses.field(default_factory=list)
    # By which rules the steps put tensors there.
    laid_out: str = ""
    # What makes the converter's class do what it means to.
    mend: Callable | None = None
    # Whether it is there a second time, as transformers has it in memory.
    fused: bool = False


@dataclasses.dataclass
class Repository:
    """A folder in `tests/files/to-gguf`: a whole repository, and the GGUF files that the converter makes of it."""

    # Beside the sizes in gguf_models.py.
    settings: dict
    # Writes the files of a tokenizer into a folder, and returns the ids that configs name.
    tokenizer: Callable
    # The pre-tokenizer's name, where the converter would look for a hash.
    pre: str | None
    # Of the checkpoint and of the GGUF files.
    dtype: str = "bfloat16"
    types: list = dataclasses.field(default_factory=lambda: ["bf16"])
    # If it is not the family's.
    model: str | Callable | None = None
    # What is done to the saved repository: functions of its folder.
    steps: list = dataclasses.field(default_factory=list)
    # The same, for what the converter does not read: it has run by then.
    unread: list = dataclasses.field(default_factory=list)
    # What makes the converter's class do what it means to.
    mend: Callable | None = None
    # What generation_config.json says of it.
    sampling: dict = dataclasses.field(default_factory=dict)
    # How many ids there are that no token has.
    spare: int = 2
    # Without layers that predict further tokens, which the converter has to be told.
    without_next: bool = False
    # Two more files: without the layers that predict further tokens, and with nothing but these.
    next_apart: bool = False
    # Writes config and weights, given a folder and the number of ids, where transformers does not know them.
    laid_out: Callable | None = None


@dataclasses.dataclass
class Family:
    # The name of its classes in transformers (`Llama`), a class that is no language model (`BertModel`), or a
    # function that makes a model of settings.
    model: str | Callable | None
    # Folder to Tiny.
    names: dict = dataclasses.field(default_factory=dict)
    # Folder to Repository.
    to_gguf: dict = dataclasses.field(default_factory=dict)
    # Rows of `tests/files/configs`: configs as published repositories have them. What older files say and newer
    # ones do not, and the other way round; what nobody says.
    configs: dict = dataclasses.field(default_factory=dict)
    # generation_config.json of some of these.
    generations: dict = dataclasses.field(default_factory=dict)
    # Settings of some of these that llama.cpp does not follow, so that they get a warning.
    warned: dict = dataclasses.field(default_factory=dict)
    # Entries of some of these with which the converter's file does not run as the model does: ours differ.
    beyond: dict = dataclasses.field(default_factory=dict)
    # Rows of check_settings.py, by the name of the family there: `Cases` of settings_rows.py.
    settings: dict = dataclasses.field(default_factory=dict)
    # Families whose settings are not run, and why.
    skipped: dict = dataclasses.field(default_factory=dict)
    # The `model_type` whose class config_defaults.py asks, for families that have a way back.
    back: str | None = None

    def __post_init__(self):
        for one in [*self.names.values(), *self.to_gguf.values()]:
            one.model = one.model or self.model


def shape(hidden, inner, layers, heads, kv, vocabulary, context, **more):
    sizes = dict(hidden_size=hidden, intermediate_size=inner, num_hidden_layers=layers, num_attention_heads=heads)
    return dict(sizes, num_key_value_heads=kv, vocab_size=vocabulary, max_position_embeddings=context, **more)


def config(kind, model_type, *args, **more):
    sizes = shape(*args[:7]) if args else {}
    return dict(architectures=[kind], model_type=model_type, **sizes, **more)


def experts(count, width):
    return dict(num_experts=count, num_experts_per_tok=2, moe_intermediate_size=width)


# Scaling of rotary frequencies, for which the converter writes a tensor of its own.
LLAMA3 = dict(
    rope_type="llama3",
    rope_theta=500000.0,
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=8192,
)
# Multiples of the blocks that codes come in.
WIDE = dict(hidden_size=64, intermediate_size=64, head_dim=16)
PACKED = dict(hidden_size=32, intermediate_size=32, head_dim=8)
DENSE_FIRST = dict(
    num_hidden_layers=2,
    first_k_dense_replace=1,
    n_routed_experts=3,
    n_shared_experts=1,
    num_experts_per_tok=2,
    moe_intermediate_size=8,
    n_group=1,
    topk_group=1,
)
LATENT = dict(
    DENSE_FIRST,
    num_key_value_heads=4,
    q_lora_rank=12,
    kv_lora_rank=10,
    qk_nope_head_dim=6,
    qk_rope_head_dim=4,
    v_head_dim=8,
)
YARN = dict(
    rope_type="yarn",
    rope_theta=10000.0,
    factor=40.0,
    original_max_position_embeddings=32,
    beta_fast=32.0,
    beta_slow=1.0,
    mscale=0.707,
    mscale_all_dim=0.707,
)
LINEAR = dict(
    num_hidden_layers=2,
    layer_types=["linear_attention", "full_attention"],
    full_attention_interval=2,
    head_dim=8,
    linear_conv_kernel_dim=4,
    linear_key_head_dim=4,
    linear_value_head_dim=4,
    linear_num_key_heads=2,
    linear_num_value_heads=6,
    rope_parameters=dict(rope_type="default", rope_theta=10000000.0, partial_rotary_factor=0.5, mrope_interleaved=True, mrope_section=[1, 1, 0]),
)
ENCODER = dict(type_vocab_size=2, max_position_embeddings=20, num_hidden_layers=2, num_key_value_heads=ABSENT)
SMALL_ENCODER = dict(type_vocab_size=2, max_position_embeddings=20, num_key_value_heads=4)
# In published configs.
SCALED_YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32768)
SCALED_LLAMA3 = dict(factor=32.0, high_freq_factor=4.0, low_freq_factor=1.0, original_max_position_embeddings=8192)
DEEPSEEK = dict(kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128, rms_norm_eps=1e-6, rope_theta=10000)
DEEPSEEK_YARN = dict(beta_fast=32, beta_slow=1, factor=40, original_max_position_embeddings=4096, type="yarn")


def numbers(shape, generator):
    return torch.randn(shape, generator=generator) * 0.4


def change(folder, edit):
    """Puts what `edit` makes of a saved config in its place."""
    with open(os.path.join(folder, "config.json")) as file:
        content = json.load(file)
    write_json(folder, "config.json", edit(content), indent=2)


def say(**said):
    """The step that has a config say what published ones say and transformers does not write."""
    return lambda folder: change(folder, lambda config: dict(config, **said))


def edited(edit):
    """The step that changes the tensors of a saved model, by a function of them and a source of random numbers."""

    def step(folder):
        path = os.path.join(folder, "model.safetensors")
        tensors = load_file(path)
        edit(tensors, torch.Generator().manual_seed(len(tensors)))
        save_file(tensors, path, {"format": "pt"})

    return step


def settled(tensors, generator):
    """Draws logarithms of decay rates again where torch's exponential, whose last bit is the machine's, is not the rounded one."""
    for name in [name for name in tensors if name.endswith("A_log")]:
        kept = tensors[name]
        while True:
            exact = torch.exp(kept.double()).float()
            odd = torch.exp(kept.float()) != exact
            if not odd.any():
                break
            kept = torch.where(odd, numbers(kept.shape, generator).to(kept.dtype), kept)
        tensors[name] = kept


def as_old(folder):
    """A config as transformers 4 wrote it."""

    def edit(config):
        rope = config.pop("rope_parameters")
        if "full_attention" in rope:
            config["rope_theta"] = rope["full_attention"]["rope_theta"]
            config["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
            del config["layer_types"]
        else:
            config["rope_theta"] = rope["rope_theta"]
        config["rope_scaling"] = None
        config["torch_dtype"] = config.pop("dtype")
        config["transformers_version"] = "4.46.0"
        return config

    change(folder, edit)


def last_layer(tensors):
    return max(int(name.split(".")[2]) for name in tensors if name.startswith("model.layers."))


def next_parts(tensors, layer, generator, parts):
    """What a layer that predicts one more token has beside what others have, in the order in which it is drawn."""
    tokens, width = tensors["model.embed_tokens.weight"].shape
    shapes = {"embed_tokens": [tokens, width], "shared_head.head": [tokens, width], "eh_proj": [width, 2 * width]}
    for part in parts.split():
        tensors[f"model.layers.{layer}.{part}.weight"] = numbers(shapes.get(part, [width]), generator).bfloat16()


def next_layer(tensors, generator):
    """Adds what published checkpoints have and transformers does not build: a layer like the last one that
    predicts one more token."""
    last = last_layer(tensors)
    for name in [name for name in tensors if name.startswith(f"model.layers.{last}.")]:
        tensors[name.replace(f".{last}.", f".{last + 1}.", 1)] = numbers(tensors[name].shape, generator).bfloat16()
    next_parts(tensors, last + 1, generator, "embed_tokens shared_head.head eh_proj enorm hnorm shared_head.norm")


def last_is_next(tensors, generator):
    """The same in place of the last layer."""
    next_parts(tensors, last_layer(tensors), generator, "embed_tokens eh_proj enorm hnorm shared_head.head shared_head.norm")
