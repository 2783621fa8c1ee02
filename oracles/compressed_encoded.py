#!/usr/bin/env python3
"""Write small models and what llm-compressor makes of them without data.

tests/files/encoded-compressed/source-TYPE   one layer of a Llama with random weights: rows of zeros,
                                             of one number, of numbers halfway between two codes, of
                                             heavy tails, tiny and huge ones, and single outliers
tests/files/encoded-compressed/CASE-TYPE     the same, by a preset of compressed-tensors: `oneshot`
                                             without a dataset, then `save_pretrained`

Layers whose columns are no whole groups are what llm-compressor refuses: they are ignored.

Usage: compressed_encoded.py [project folder] [case ...]
"""

import json
import os
import shutil
import sys
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from compressed_tensors.quantization import QuantizationArgs, preset_name_to_scheme
from llmcompressor import oneshot
from llmcompressor.modifiers.quantization import QuantizationModifier
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from encoded_weights import fill

torch.set_num_threads(1)
ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
ONLY = sys.argv[2:]
OUT = ROOT / "tests/files/encoded-compressed"
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}

# Each case: the preset, and columns that share a scale, if that is asked for.
CASES = {
    "fp8": ("FP8_DYNAMIC", None),
    "int8": ("W8A8", None),
    "w8a16": ("W8A16", None),
    "w4a16": ("W4A16", None),
    "w4a16-g32": ("W4A16", 32),
    "w4a16-asym": ("W4A16_ASYM", None),
    "mxfp4": ("MXFP4A16", None),
    "mxfp8": ("MXFP8A16", None),
    "nvfp4": ("NVFP4A16", None),
}


def source(name, dtype):
    """A model whose feed-forward part has rows that make no whole words, and columns that make no
    whole groups."""
    inner = 20
    config = LlamaConfig(
        hidden_size=128, intermediate_size=inner, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, vocab_size=8, max_position_embeddings=32,
        dtype=str(dtype).removeprefix("torch."), architectures=["LlamaForCausalLM"])
    model = LlamaForCausalLM(config).to(dtype)
    fill(model, seed=len(name) + inner)
    folder = OUT / f"source-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    os.remove(folder / "generation_config.json")
    return folder


def quantized(folder, case, name):
    preset, group = CASES[case]
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=TYPES[name])
    scheme = preset_name_to_scheme(preset, ["Linear"])
    settings = {"scheme": preset, "targets": "Linear"}
    if group is not None:
        weights = scheme.weights.model_dump(exclude_unset=True)
        scheme.weights = QuantizationArgs(**{**weights, "group_size": group})
        settings = {"config_groups": {"group_0": scheme}}
    size = scheme.weights.group_size
    linear = [(n, m) for n, m in model.named_modules() if isinstance(m, torch.nn.Linear)]
    ignore = ["lm_head"] + [n for n, m in linear if size and m.weight.shape[1] % size]
    recipe = QuantizationModifier(**settings, ignore=ignore)
    oneshot(model=model, recipe=recipe)
    written = OUT / f"{case}-{name}"
    shutil.rmtree(written, ignore_errors=True)
    model.save_pretrained(written, save_compressed=True)
    for other in written.iterdir():
        if other.name not in ("config.json", "model.safetensors"):
            other.unlink()


for name, dtype in TYPES.items():
    folder = source(name, dtype)
    for case in CASES:
        if not ONLY or case in ONLY:
            quantized(folder, case, name)
