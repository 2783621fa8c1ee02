"""Repositories that transformers does not know, laid out after published ones: names and shapes of tensors, in parts that
several families share."""

import os

import torch
from family_blocks import numbers, settled
from gguf_vocabularies import write_json
from safetensors.torch import save_file

WIDTH = 16


def laid_out(said, shapes, dtype=torch.bfloat16, single=()):
    """Writes a config with the number of tokens, and random numbers in the shapes that `shapes` makes of it. Weights whose
    names end with one of `single` are in F32."""

    def write(folder, tokens):
        write_json(folder, "config.json", dict(said, vocab_size=tokens), indent=2)
        found = shapes(tokens)
        generator = torch.Generator().manual_seed(len(found))
        kind = lambda name: torch.float32 if name.endswith(tuple(single)) else dtype  # noqa: E731
        tensors = {name: numbers(shape, generator).to(kind(name)) for name, shape in found.items()}
        settled(tensors, generator)
        save_file(tensors, os.path.join(folder, "model.safetensors"), {"format": "pt"})

    return write


def inside(prefix, modules, ending=".weight"):
    return {f"{prefix}.{name}{ending}": shape for name, shape in modules.items()}


def trunk(tokens, width=WIDTH, prefix="model.", embedding="embed_tokens", head=True):
    found = {f"{prefix}{embedding}.weight": [tokens, width], f"{prefix}norm.weight": [width]}
    return dict(found, **({"lm_head.weight": [tokens, width]} if head else {}))


def norms(layer, width=WIDTH):
    return inside(layer, {"input_layernorm": [width], "post_attention_layernorm": [width]})


def attention(layer, heads, keys, head, width=WIDTH):
    shapes = dict(q_proj=[heads * head, width], k_proj=[keys * head, width], v_proj=[keys * head, width], o_proj=[width, heads * head])
    return inside(f"{layer}.self_attn", shapes)


def latent(layer, heads, nope, rotated, value, rank, queries=None, width=WIDTH, module="self_attn"):
    """DeepSeek's attention."""
    shapes = {"kv_a_proj_with_mqa": [rank + rotated, width], "kv_a_layernorm": [rank], "kv_b_proj": [heads * (nope + value), rank]}
    made = heads * (nope + rotated)
    if queries:
        shapes |= {"q_a_proj": [queries, width], "q_a_layernorm": [queries], "q_b_proj": [made, queries]}
    else:
        shapes["q_proj"] = [made, width]
    return inside(f"{layer}.{module}", dict(shapes, **{"o_proj": [width, heads * value]}))


def mlp(module, inner, width=WIDTH, gated=True):
    shapes = dict(up_proj=[inner, width], down_proj=[width, inner], gate_proj=[inner, width])
    return inside(module, shapes if gated else dict(list(shapes.items())[:2]))


def experts(layer, count, inner, shared=0, width=WIDTH):
    """DeepSeek's experts; `shared` is the inner size of those that see every token."""
    found = {f"{layer}.mlp.gate.weight": [count, width]}
    for expert in range(count):
        found |= mlp(f"{layer}.mlp.experts.{expert}", inner, width)
    return found | (mlp(f"{layer}.mlp.shared_experts", shared, width) if shared else {})


def layers(count, of):
    """What `of` makes of the name and the number of each layer."""
    found = {}
    for layer in range(count):
        found |= of(f"model.layers.{layer}", layer)
    return found
