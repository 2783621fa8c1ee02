"""Trinity."""

from family_blocks import Family, Repository, config, say
from family_tokenizers import llama3
from settings_rows import ACT, EPS, KV, NOTHING, TIED, WINDOW, Cases, each, kinds, row

SIZES = dict(num_experts=3, num_experts_per_tok=2, num_shared_experts=1, moe_intermediate_size=8, num_dense_layers=1, head_dim=4, sliding_window=16, mup_enabled=True)
SAID = dict(route_norm=True, score_func="sigmoid", n_group=1, topk_group=1, num_expert_groups=1, num_limited_groups=1, load_balance_coeff=0.001, use_grouped_mm=True)
KINDS = ["sliding_attention"] * 3 + ["full_attention"]

FAMILY = Family(
    "Afmoe",
    to_gguf={
        "afmoe": Repository(dict(SIZES, num_hidden_layers=4, intermediate_size=8), llama3, "llama-bpe", steps=[say(**SAID)]),
        "afmoe-open": Repository(
            dict(
                SIZES, num_experts=4, num_shared_experts=2, num_dense_layers=0, head_dim=8, sliding_window=None, layer_types=["full_attention"],
                tie_word_embeddings=True, rope_parameters=dict(rope_type="linear", rope_theta=500000.0, factor=2.0),
            ),
            llama3, "llama-bpe", dtype="float16", types=["f32"], steps=[say(route_norm=True)],
        ),
    },
    configs={
        "trinity-mini": config(
            "AfmoeForCausalLM", "afmoe", 2048, 6144, 32, 32, 4, 200192, 131072,
            global_attn_every_n_layers=4, head_dim=128, hidden_act="silu", layer_types=KINDS * 8, moe_intermediate_size=1024, mup_enabled=True,
            num_dense_layers=2, num_experts=128, num_experts_per_tok=8, num_shared_experts=1, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=10000,
            route_scale=2.826, sliding_window=2048, tie_word_embeddings=False, **SAID,
        ),
        "afmoe-other": config(
            "AfmoeForCausalLM", "afmoe", 512, 1024, 4, 8, 2, 1000, 4096, layer_types=["full_attention"] + KINDS[:3], num_experts=8, mup_enabled=True, route_norm=True
        ),
        "afmoe-bare": dict(architectures=["AfmoeForCausalLM"], model_type="afmoe"),
    },
    warned={"afmoe-other": ["layer_types"], "afmoe-bare": ["mup_enabled"]},
    beyond={"afmoe-other": ["afmoe.attention.sliding_window_pattern"], "afmoe-bare": ["afmoe.expert_weights_norm"]},
    settings={
        "afmoe": Cases(
            "afmoe",
            dict(
                num_experts=6, num_experts_per_tok=2, num_shared_experts=1, moe_intermediate_size=32, num_dense_layers=1, head_dim=16,
                sliding_window=WINDOW, mup_enabled=True, layer_types=kinds("sssf"),
            ),
            [
                row("layer_types", "sfsf", layer_types=kinds("sfsf")), row("layer_types", "ffff", layer_types=kinds("ffff")),
                *each("mup_enabled", False), *each("route_scale", 2.5), *each("attention_bias", True), *[*TIED, *ACT, *EPS, *KV, *NOTHING],
            ],
            steps=[],
        ),
    },
    back="afmoe",
)  # fmt: skip
