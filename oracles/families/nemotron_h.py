"""Nemotron-H, laid out as it is published: transformers' class says that every model has experts."""

import family_layouts as layouts
import torch
from families.apertus import tekken
from family_blocks import Family, Repository

COMMON = dict(
    architectures=["NemotronHForCausalLM"], model_type="nemotron_h", attention_bias=False, attention_dropout=0.0, bos_token_id=1, chunk_size=128,
    conv_kernel=4, eos_token_id=2, expand=4, hidden_dropout=0.0, hidden_size=16, hybrid_override_pattern="M-*-", initializer_range=0.02,
    intermediate_size=24, layer_norm_epsilon=1e-5, mamba_head_dim=16, mamba_hidden_act="silu", mamba_num_heads=4, mamba_proj_bias=False,
    max_position_embeddings=64, mlp_bias=False, mlp_hidden_act="relu2", n_groups=2, num_attention_heads=4, num_hidden_layers=4,
    num_key_value_heads=2, num_logits_to_keep=1, rescale_prenorm_residual=True, residual_in_fp32=False, rms_norm_eps=1e-5,
    sliding_window=None, ssm_state_size=4, tie_word_embeddings=False, time_step_floor=0.0001, time_step_limit=[0.0, 1e38], time_step_max=0.1,
    time_step_min=0.001, use_bias=False, use_cache=True, use_conv_bias=True, use_mamba_kernels=True,
)  # fmt: skip
CONFIG = dict(COMMON, attention_head_dim=4)


def space(name, heads=4, width=16, groups=2, state=4, hidden=16):
    inner, mixed = heads * width, heads * width + 2 * groups * state
    shapes = {"in_proj.weight": [inner + mixed + heads, hidden], "conv1d.weight": [mixed, 1, 4], "conv1d.bias": [mixed], "dt_bias": [heads]}
    return layouts.inside(name, shapes | {"A_log": [heads], "D": [heads], "norm.weight": [inner], "out_proj.weight": [hidden, inner]}, "")


def attention(name, keys, head, hidden=16):
    return layouts.inside(name, dict(q_proj=[4 * head, hidden], k_proj=[keys * head, hidden], v_proj=[keys * head, hidden], o_proj=[hidden, 4 * head]))


def trunk(tokens):
    return {"backbone.embeddings.weight": [tokens, 16], "backbone.norm_f.weight": [16], "lm_head.weight": [tokens, 16]}


def layers(pattern, keys, head, network, groups=2):
    found = {}
    for number, kind in enumerate(pattern):
        name = f"backbone.layers.{number}.mixer"
        found[f"backbone.layers.{number}.norm.weight"] = [16]
        found |= space(name, groups=groups) if kind == "M" else attention(name, keys, head) if kind == "*" else network(name)
    return found


def dense(name):
    return layouts.mlp(name, 24, gated=False)


def shapes(tokens, pattern="M-*-", keys=2, head=4):
    return trunk(tokens) | layers(pattern, keys, head, dense)


# Rows for as many tokens as the converter makes.
ROWS = 13
SINGLE = ["A_log", "D"]
FAMILY = Family(
    None,
    to_gguf={
        "nemotron_h": Repository({}, tekken, "tekken", types=["f32", "bf16"], laid_out=layouts.laid_out(CONFIG, shapes, single=SINGLE), spare=ROWS),
        "nemotron_h-wide": Repository(
            {}, tekken, "tekken", types=["f16"], spare=ROWS,
            laid_out=layouts.laid_out(
                dict(COMMON, head_dim=8, hybrid_override_pattern="*MM-", num_key_value_heads=1, rope_theta=10000),
                lambda tokens: shapes(tokens, "*MM-", 1, 8), torch.float16,
            ),
        ),
    },
)  # fmt: skip
