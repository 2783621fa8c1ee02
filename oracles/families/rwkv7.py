"""RWKV 7, laid out after published repositories: those of fla, and those that keep the model's own names."""

import family_layouts as layouts
import torch
from families.rwkv6 import alone
from family_blocks import Family, Repository
from family_tokenizers import rwkv

FLA = dict(
    architectures=["RWKV7ForCausalLM"], model_type="rwkv7", a_low_rank_dim=6, attn=None, attn_mode="chunk", bos_token_id=1, decay_low_rank_dim=4, eos_token_id=2,
    fuse_cross_entropy=True, fuse_norm=True, gate_low_rank_dim=8, head_dim=8, hidden_act="sqrelu", hidden_ratio=4.0, hidden_size=16, initializer_range=0.02,
    intermediate_size=24, max_position_embeddings=2048, norm_bias=True, norm_eps=1e-5, norm_first=True, num_heads=2, num_hidden_layers=2,
    tie_word_embeddings=False, use_cache=True, v_low_rank_dim=5,
)  # fmt: skip
OWN = dict(
    architectures=["Rwkv7ForCausalLM"], model_type="rwkv7", attention_hidden_size=16, bos_token_id=0, eos_token_id=0, head_size=8, hidden_size=16,
    intermediate_size=None, layer_norm_epsilon=1e-5, lora_rank_decay=None, lora_rank_gate=8, lora_rank_iclr=None, lora_rank_value_residual_mix=None,
    num_hidden_layers=2, tie_word_embeddings=False, use_cache=True,
)  # fmt: skip
RANKS = dict(w=4, a=6, v=5, g=8)


def fla(tokens, layers=2, inner=24, first_values=False):
    found = {"model.embeddings.weight": [tokens, 16], "lm_head.weight": [tokens, 16]}
    norms = ["model.layers.0.pre_norm", "model.norm"]
    for layer in range(layers):
        name = f"model.layers.{layer}"
        norms += [f"{name}.{norm}" for norm in ("attn_norm", "ffn_norm", "attn.g_norm")]
        found |= {f"{name}.attn.x_{part}": [1, 1, 16] for part in "rwkvag"}
        found |= {f"{name}.attn.k_k": [16], f"{name}.attn.k_a": [16], f"{name}.attn.r_k": [2, 8], f"{name}.ffn.x_k": [16]}
        found |= layouts.inside(f"{name}.attn", {f"{part}_proj": [16, 16] for part in "rkvo"})
        found |= layouts.inside(f"{name}.ffn", {"key": [inner, 16], "value": [16, inner]})
        for part, rank in RANKS.items():
            if part == "v" and layer == 0 and not first_values:
                continue
            lora = f"{name}.attn.{part}_lora.lora"
            found |= {f"{lora}.0.weight": [rank, 16], f"{lora}.2.weight": [16, rank]}
            found |= {} if part == "g" else {f"{lora}.2.bias": [16]}
    return found | {f"{norm}.{end}": [16] for norm in norms for end in ("weight", "bias")}


def mixer(name, layer, first_values=True, parts="rwkvag"):
    """A layer's attention in the model's own names."""
    found = {f"{name}.x_{part}": [1, 1, 16] for part in parts}
    found |= {f"{name}.k_k": [1, 1, 16], f"{name}.k_a": [1, 1, 16], f"{name}.r_k": [2, 8], f"{name}.ln_x.weight": [16], f"{name}.ln_x.bias": [16]}
    found |= layouts.inside(name, {part: [16, 16] for part in ("receptance", "key", "value", "output")})
    for part, rank in RANKS.items():
        if part not in parts or (part == "v" and layer == 0 and not first_values):
            continue
        found |= {f"{name}.{part}1": [16, rank], f"{name}.{part}2": [rank, 16]}
        found |= {} if part == "g" else {f"{name}.{part}0": [1, 1, 16]}
    return found


def own(tokens):
    found = {"model.embeddings.weight": [tokens, 16], "head.weight": [tokens, 16]}
    norms = ["model.pre_ln", "model.ln_out"]
    for layer in range(2):
        name = f"model.blocks.{layer}"
        norms += [f"{name}.ln1", f"{name}.ln2"]
        found |= mixer(f"{name}.attention", layer) | {f"{name}.ffn.x_k": [1, 1, 16]}
        found |= layouts.inside(f"{name}.ffn", {"key": [64, 16], "value": [16, 64]})
    return found | {f"{norm}.{end}": [16] for norm in norms for end in ("weight", "bias")}


FAMILY = Family(
    None,
    to_gguf={
        "rwkv7": Repository({}, rwkv("{{ messages }}"), None, types=["f32", "bf16"], spare=280, laid_out=layouts.laid_out(FLA, fla)),
        "rwkv7-own": Repository({}, rwkv(config=False), None, types=["auto"], spare=280, mend=alone, laid_out=layouts.laid_out(OWN, own, torch.float32)),
        "rwkv7-three": Repository(
            {}, rwkv("{{ messages }}"), None, types=["f16"], spare=280,
            laid_out=layouts.laid_out(dict(FLA, num_hidden_layers=3, intermediate_size=None), lambda tokens: fla(tokens, 3, 64, True), torch.float16),
        ),
    },
    configs={
        "rwkv7-1.5b-world": dict(
            FLA, a_low_rank_dim=96, decay_low_rank_dim=96, gate_low_rank_dim=256, head_dim=64, hidden_size=2048, intermediate_size=8192, num_heads=32,
            num_hidden_layers=24, v_low_rank_dim=64, vocab_size=65536,
        ),
        "rwkv7-unsaid": dict(OWN, hidden_size=2560, head_size=64, lora_rank_gate=None, num_hidden_layers=32, vocab_size=65536),
    },
)  # fmt: skip
