"""Tiny models of random weights, as transformers builds them."""

import re

import torch
from family_blocks import ABSENT, numbers

import transformers


def model_of(kind, settings):
    """A model by the name of its family's classes, by that of its own, or by a function of settings."""
    settings = {key: value for key, value in settings.items() if value is not ABSENT}
    if callable(kind):
        return kind(settings)
    family, suffix = re.fullmatch(r"(\w+?)(LMHeadModel|Model|For\w+)?", kind).groups()
    text = "TextConfig" if hasattr(transformers, family + "TextConfig") else "Config"
    return getattr(transformers, family + (suffix or "ForCausalLM"))(getattr(transformers, family + text)(**settings))


def build(kind, settings, dtype):
    """The same with every parameter random, norms and biases too, so that no change of order or value goes unseen."""
    model = model_of(kind, settings)
    generator = torch.Generator().manual_seed(len(list(model.parameters())))
    for parameter in model.parameters():
        parameter.data = numbers(parameter.shape, generator)
    # Some weights are kept as buffers.
    kept = model.state_dict()
    for name, buffer in model.named_buffers():
        if name in kept and buffer.is_floating_point():
            buffer.copy_(numbers(buffer.shape, generator))
    model.tie_weights()
    return model.to(getattr(torch, dtype))
