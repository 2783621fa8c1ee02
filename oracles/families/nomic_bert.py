"""Nomic's encoders, which have a config and names of their own that transformers 5 replaces by its own. The converter
reads published ones as they are where transformers does not know them."""

import os

import torch
from family_blocks import Family, Repository, numbers
from family_tokenizers import bert, by_flag, pooled
from gguf_vocabularies import write_json
from safetensors.torch import save_file

CONFIG = dict(
    architectures=["NomicBertModel"], model_type="nomic_bert", activation_function="swiglu", causal=False, layer_norm_epsilon=1e-12,
    max_trained_positions=2048, mlp_fc1_bias=False, mlp_fc2_bias=False, n_embd=16, n_head=4, n_inner=24, n_layer=2, n_positions=8192,
    pad_vocab_size_multiple=64, parallel_block=False, prenorm=False, qkv_proj_bias=False, rotary_emb_base=1000, rotary_emb_fraction=1.0,
    rotary_emb_interleaved=False, rotary_emb_scale_base=None, tie_word_embeddings=True, type_vocab_size=2,
)  # fmt: skip


def shapes(tokens, width, inner, layers):
    found = {"embeddings.word_embeddings.weight": [tokens, width], "embeddings.token_type_embeddings.weight": [2, width]}
    found |= {"emb_ln.weight": [width], "emb_ln.bias": [width]}
    for layer in range(layers):
        inside = {"attn.Wqkv": [3 * width, width], "attn.out_proj": [width, width]}
        inside |= {"mlp.fc11": [inner, width], "mlp.fc12": [inner, width], "mlp.fc2": [width, inner]}
        found |= {f"encoder.layers.{layer}.{name}.weight": shape for name, shape in inside.items()}
        for norm in ["norm1", "norm2"]:
            found |= {f"encoder.layers.{layer}.{norm}.{end}": [width] for end in ["weight", "bias"]}
    return found


def lay_out(folder, tokens):
    write_json(folder, "config.json", dict(CONFIG, vocab_size=tokens), indent=2)
    found = shapes(tokens, width=16, inner=24, layers=2)
    generator = torch.Generator().manual_seed(len(found))
    tensors = {name: numbers(shape, generator) for name, shape in found.items()}
    save_file(tensors, os.path.join(folder, "model.safetensors"), {"format": "pt"})


FAMILY = Family(
    None,
    to_gguf={
        "nomic_bert": Repository({}, pooled(bert, **by_flag("mean_tokens")), "default", types=["f32", "f16"], laid_out=lay_out),
    },
)
