"""Models for check_settings.py: small, with random weights that keep every layer's part of the output visible.

A weight depends on its name and shape alone. Two models that differ in one setting therefore have the same weights, and
the difference of what they say is the setting's.
"""

import os
import re
import shutil
import zlib

import gguf_models
import torch
from family_blocks import write_json
from tiny_models import model_of

import transformers


def scale(name, shape, less_one):
    """Mean and deviation: matrices keep the size of what passes through them, norms stay near one."""
    if len(shape) < 2:
        is_norm = not (name.endswith("bias") or "sinks" in name)
        return (1.0 if is_norm and not (less_one and "norm" in name) else 0.0), 0.3
    if re.search(r"embed|wte|wpe", name):
        return 0.0, 0.25
    return 0.0, (2.0 if "lm_head" in name else 1.2) / shape[-1] ** 0.5


def numbers(name, tensor, less_one):
    mean, deviation = scale(name, tensor.shape, less_one)
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    return (torch.randn(tensor.shape, generator=generator) * deviation + mean).to(tensor.dtype)


def build(kind, settings, less_one):
    model = model_of(kind, settings)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if tensor.is_floating_point():
                tensor.copy_(numbers(name, tensor, less_one))
    model.tie_weights()
    return model.float()


def save(model, entry, folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    ids = entry.tokenizer(folder)
    model.save_pretrained(folder)
    write_json(folder, "generation_config.json", ids, indent=2)
    for step in entry.steps:
        step(folder)


def vocabulary_of(entry, folder):
    """The settings that follow from a tokenizer."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    ids = entry.tokenizer(folder)
    return dict(ids, vocab_size=gguf_models.tokens(folder))


def load(folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    # Published code may name its class otherwise.
    kind = getattr(transformers, config.architectures[0], transformers.AutoModelForCausalLM)
    return kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def of_transformers(folder, tokens, embed):
    model = load(folder)
    with torch.inference_mode():
        found = model(input_ids=torch.tensor([tokens]))
    return (found.last_hidden_state if embed else found.logits)[0].float().numpy()
