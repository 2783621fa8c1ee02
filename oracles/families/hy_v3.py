"""Hunyuan 3."""

from family_blocks import Family, Repository, config, edited, last_layer, numbers, say
from family_tokenizers import deepseek
from gguf_vocabularies import DEEPSEEK_V3, split
from settings_rows import ACT, EPS, KV, NOTHING, TIED, Cases, each, row, theta

hy = deepseek([split(pattern) for pattern in DEEPSEEK_V3])
SIZES = dict(num_experts=3, num_experts_per_tok=2, num_shared_experts=1, moe_intermediate_size=8, num_hidden_layers=2, head_dim=4)
SAID = dict(
    first_k_dense_replace=1, qk_norm=True, route_norm=True, moe_router_use_sigmoid=True, moe_router_enable_expert_bias=True, expert_hidden_dim=8,
    enable_lm_head_fp32=True, enable_attention_fp32_softmax=False,
)  # fmt: skip


def predicting(tensors, generator):
    """A layer like the last one that predicts one more token."""
    last = last_layer(tensors)
    for name in [name for name in tensors if name.startswith(f"model.layers.{last}.")]:
        tensors[name.replace(f".{last}.", f".{last + 1}.", 1)] = numbers(tensors[name].shape, generator).bfloat16()
    for part, shape in dict(eh_proj=[16, 32], enorm=[16], hnorm=[16], final_layernorm=[16]).items():
        tensors[f"model.layers.{last + 1}.{part}.weight"] = numbers(shape, generator).bfloat16()


FAMILY = Family(
    "HYV3",
    to_gguf={
        "hy_v3": Repository(
            SIZES, hy, "deepseek-v3", steps=[edited(predicting), say(num_nextn_predict_layers=1, **SAID)], next_apart=True
        ),
        "hy_v3-dense": Repository(
            dict(SIZES, num_experts=4, num_shared_experts=2, head_dim=8, mlp_layer_types=["sparse", "dense"], tie_word_embeddings=True, router_scaling_factor=1.5),
            hy, "deepseek-v3", dtype="float16", types=["f32"], steps=[say(route_norm=False)],
        ),
    },
    configs={
        "hy3": config(
            "HYV3ForCausalLM", "hy_v3", 4096, 13312, 80, 64, 8, 120832, 262144,
            head_dim=128, hidden_act="silu", moe_intermediate_size=1536, num_experts=192, num_experts_per_tok=8, num_shared_experts=1,
            num_nextn_predict_layers=1, rms_norm_eps=1e-5, rope_parameters=dict(rope_type="default", rope_theta=11158840.0),
            router_scaling_factor=2.826, tie_word_embeddings=False, **dict(SAID, expert_hidden_dim=1536),
        ),
        "hy3-bare": dict(architectures=["HYV3ForCausalLM"], model_type="hy_v3"),
    },
    settings={
        "hy_v3": Cases(
            "hy_v3",
            dict(
                num_experts=6, num_experts_per_tok=2, num_shared_experts=1, moe_intermediate_size=32, head_dim=16,
                mlp_layer_types=["dense", "sparse", "sparse", "sparse"],
            ),
            [
                row("mlp_layer_types", "sparse, dense", mlp_layer_types=["sparse", "dense"] * 2), row("mlp_layer_types", "all dense", mlp_layer_types=["dense"] * 4),
                row("mlp_layer_types", "all sparse", mlp_layer_types=["sparse"] * 4), *each("route_norm", False), *each("router_scaling_factor", 1.0), *each("num_shared_experts", 2), *each("attention_bias", True), *theta(500.0),
                *[*TIED, *each("head_dim", 24), *ACT, *EPS, *KV, *NOTHING],
            ],
            steps=[],
        ),
    },
    back="hy_v3",
)  # fmt: skip
