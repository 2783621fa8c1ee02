"""Weights of encoders that the entries in `projectors` lay out by hand."""

import os

import numpy as np
import torch
from family_tokenizers import meta
from projector_blocks import Golden, laid_out, linear, llama_text, norm
from safetensors.torch import load_file, save_file

# The width of an encoder, of its feed-forward layers, and of the language model.
WIDTH, INNER, TEXT_WIDTH = 16, 24, 16

TEXT_CONFIG = dict(
    hidden_size=TEXT_WIDTH,
    intermediate_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=8,
    max_position_embeddings=64,
    rms_norm_eps=1e-5,
)


def modules(prefix, linears=None, norms=None, bias=True, norm_bias=True):
    """Linear modules by their shapes, and norms by their widths."""
    found = {}
    for name, (rows, columns) in (linears or {}).items():
        found.update(linear(prefix + name, rows, columns, bias))
    for name, width in (norms or {}).items():
        found.update(norm(prefix + name, width, norm_bias))
    return found


def layered(prefix, layers, linears=None, norms=None, **options):
    """The same in every layer."""
    found = {}
    for layer in range(layers):
        found.update(modules(f"{prefix}{layer}.", linears, norms, **options))
    return found


def convolution(name, shape, bias=True):
    return {f"{name}.weight": list(shape), **({f"{name}.bias": [shape[0]]} if bias else {})}


def batch_norm(name, width, count=True):
    found = {**norm(name, width), f"{name}.running_mean": [width], f"{name}.running_var": [width]}
    return {**found, f"{name}.num_batches_tracked": []} if count else found


def variances(tensor):
    """Numbers above zero. The library behind torch's roots is off by a bit for some, and not on every machine."""
    tensor = tensor.abs()
    root = lambda: torch.sqrt(tensor.float() + 1e-5).numpy()  # noqa: E731
    while (odd := torch.from_numpy(root() != np.sqrt((tensor.float() + 1e-5).numpy()))).any():
        tensor[odd] += 1 / 64
    return tensor


def counted(folder):
    """A step: variances are above zero, and numbers of batches are whole ones."""
    path = os.path.join(folder, "model.safetensors")
    tensors = load_file(path)
    for name, tensor in tensors.items():
        if name.endswith("running_var"):
            tensors[name] = variances(tensor)
        if name.endswith("num_batches_tracked"):
            tensors[name] = torch.tensor(7)
    save_file(tensors, path, metadata={"format": "pt"})


def siglip(prefix, layers=2, positions=16, patch=2, hidden=WIDTH, inner=INNER, post=True, flat=False, out="out_proj"):
    """SigLIP; with patches as rows of numbers if it is `flat`."""
    square = dict.fromkeys(["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", f"self_attn.{out}"], (hidden, hidden))
    linears = {**square, "mlp.fc1": (inner, hidden), "mlp.fc2": (hidden, inner)}
    patches = [hidden, 3 * patch * patch] if flat else [hidden, 3, patch, patch]
    return {
        **convolution(f"{prefix}embeddings.patch_embedding", patches),
        f"{prefix}embeddings.position_embedding.weight": [positions, hidden],
        **layered(f"{prefix}encoder.layers.", layers, linears, dict(layer_norm1=hidden, layer_norm2=hidden)),
        **(norm(f"{prefix}post_layernorm", hidden) if post else {}),
    }


def golden(config, shapes, processor=None, text=None, tokenizer=meta, dtype="bfloat16", **options):
    """A repository laid out by hand: its config but for the size of the vocabulary, and the weights of its encoders.
    `text` makes those of the language model, given the number of ids."""
    text = text or (lambda rows: llama_text(rows, "language_model.model.", "language_model.lm_head."))

    def said(rows):
        stated = dict(config, torch_dtype=dtype)
        if "text_config" in stated:
            stated["text_config"] = dict(stated["text_config"], vocab_size=rows)
        else:
            stated["vocab_size"] = rows
        return stated

    written = laid_out(said, lambda rows: {**shapes, **text(rows)}, dtype)
    return Golden(None, tokenizer, processor, laid_out=written, **options)
