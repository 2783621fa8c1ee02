"""RWKV 6, laid out after published repositories."""

import sys

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import rwkv

CONFIG = dict(
    architectures=["Rwkv6ForCausalLM"], model_type="rwkv6", attention_hidden_size=16, bos_token_id=0, eos_token_id=0, head_size=8, head_size_divisor=8,
    hidden_size=16, intermediate_size=24, layer_norm_epsilon=1e-5, model_version="6_0", num_attention_heads=2, num_hidden_layers=2, rescale_every=6,
    tie_word_embeddings=False, use_cache=True,
)  # fmt: skip


def alone(kind):
    """the converter is alone, without the templates beside it"""
    sys.modules["conversion.base"].__file__ = "/nowhere/conversion/base.py"


def lerp(module, parts, width=16, start="time_maa_"):
    return {f"{module}.{start}{part}": [1, 1, width] for part in parts}


def time_mix(name, width=16, extra=4):
    found = lerp(name, "xwkvrg", width) | {f"{name}.time_maa_w1": [width, 5 * extra], f"{name}.time_maa_w2": [5, extra, width]}
    return found | {f"{name}.time_decay": [1, 1, width], f"{name}.time_decay_w1": [width, 6], f"{name}.time_decay_w2": [6, width]}


def shapes(tokens, layers=2, inner=24):
    found = {"rwkv.embeddings.weight": [tokens, 16], "head.weight": [tokens, 16]}
    norms = ["rwkv.blocks.0.pre_ln", "rwkv.ln_out"]
    for layer in range(layers):
        name = f"rwkv.blocks.{layer}"
        norms += [f"{name}.{norm}" for norm in ("ln1", "ln2", "attention.ln_x")]
        found |= time_mix(f"{name}.attention") | {f"{name}.attention.time_faaaa": [2, 8]}
        found |= layouts.inside(f"{name}.attention", {part: [16, 16] for part in ("receptance", "key", "value", "output", "gate")})
        found |= lerp(f"{name}.feed_forward", "kr")
        found |= layouts.inside(f"{name}.feed_forward", {"key": [inner, 16], "value": [16, inner], "receptance": [16, 16]})
    return found | {f"{norm}.{end}": [16] for norm in norms for end in ("weight", "bias")}


FAMILY = Family(
    None,
    to_gguf={
        "rwkv6": Repository({}, rwkv(), None, types=["f32", "f16"], spare=280, mend=alone, laid_out=layouts.laid_out(CONFIG, shapes)),
        # Numbers that are halved again and again.
        "rwkv6-rescaled": Repository(
            {}, rwkv("{{ messages }}"), None, types=["auto"], spare=280,
            laid_out=layouts.laid_out(
                dict(CONFIG, intermediate_size=32, num_hidden_layers=3, rescale_every=1), lambda tokens: shapes(tokens, 3, 32), torch.float32
            ),
        ),
    },
    configs={
        "rwkv-6-world-1b6": dict(
            CONFIG, attention_hidden_size=2048, head_size=64, hidden_size=2048, intermediate_size=7168, num_attention_heads=64, num_hidden_layers=24,
            vocab_size=65536,
        ),
        "rwkv-6-world-7b": dict(CONFIG, head_size=64, hidden_size=4096, intermediate_size=None, num_hidden_layers=32, rescale_every=0, vocab_size=65536),
    },
)  # fmt: skip
