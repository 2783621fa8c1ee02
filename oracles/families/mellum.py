"""Mellum 2."""

from family_blocks import Family, Repository, config
from family_tokenizers import qwen2
from settings_rows import ACT, EPS, KV, NOTHING, WINDOW, Cases, by_layer, each, kinds, row

SIZES = dict(num_experts=3, num_experts_per_tok=2, moe_intermediate_size=8, head_dim=4)
PLAIN = dict(rope_type="default", rope_theta=10000.0)
YARN = dict(rope_type="yarn", rope_theta=500000.0, factor=8.0, original_max_position_embeddings=16, beta_fast=32.0, beta_slow=1.0)
KINDS = ["sliding_attention"] * 3 + ["full_attention"]

FAMILY = Family(
    "Mellum",
    to_gguf={
        "mellum": Repository(
            dict(SIZES, num_hidden_layers=4, layer_types=KINDS, sliding_window=16, rope_parameters=dict(full_attention=YARN, sliding_attention=PLAIN)),
            qwen2, "qwen2",
        ),
        "mellum-open": Repository(
            dict(SIZES, num_experts=4, head_dim=8, num_hidden_layers=2, layer_types=["full_attention", "sliding_attention"], sliding_window=None), qwen2, "qwen2", dtype="float16", types=["f32"]
        ),
    },
    configs={
        "mellum-2-12b": config(
            "MellumForCausalLM", "mellum", 2304, 7168, 28, 32, 4, 98304, 131072,
            attention_bias=False, head_dim=128, hidden_act="silu", layer_types=KINDS * 7, mlp_layer_types=["sparse"] * 28, moe_intermediate_size=896,
            norm_topk_prob=True, num_experts=64, num_experts_per_tok=8, rms_norm_eps=1e-6, sliding_window=1024, tie_word_embeddings=False,
            rope_parameters=dict(full_attention=dict(YARN, original_max_position_embeddings=8192, factor=16.0), sliding_attention=dict(PLAIN, rope_theta=500000.0)),
        ),
        "mellum-bare": dict(architectures=["MellumForCausalLM"], model_type="mellum"),
    },
    warned={"mellum-bare": ["sliding_attention.rope_theta"]},
    settings={
        "mellum": Cases(
            "mellum",
            dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=32, head_dim=16, sliding_window=WINDOW, layer_types=kinds("sssf"), **by_layer(PLAIN, PLAIN)),
            [
                row("layer_types", "fsfs", layer_types=kinds("fsfs")), row("rope_theta", "500, all layers", **by_layer(dict(PLAIN, rope_theta=500.0), dict(PLAIN, rope_theta=500.0))),
                row("rope yarn", "full layers", **by_layer(PLAIN, dict(YARN, rope_theta=10000.0, original_max_position_embeddings=32))),
                *[*each("norm_topk_prob", False), *ACT, *EPS, *KV, *NOTHING],
            ],
            steps=[],
        ),
    },
)  # fmt: skip
