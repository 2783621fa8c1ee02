"""LFM2 with experts."""

from families.lfm2 import CONV, FULL, lfm2
from family_blocks import Family, Repository, config
from settings_rows import KV, Cases, theta

SIZES = dict(num_dense_layers=1, num_experts=3, num_experts_per_tok=2, moe_intermediate_size=8, num_hidden_layers=3)

FAMILY = Family(
    "Lfm2Moe",
    to_gguf={
        "lfm2_moe": Repository(dict(SIZES, layer_types=[CONV, FULL, CONV]), lfm2, "lfm2", types=["bf16"]),
        "lfm2_moe-wide": Repository(
            dict(SIZES, layer_types=[FULL, CONV, FULL], num_dense_layers=2, num_key_value_heads=1), lfm2, "lfm2",
            dtype="float32", types=["f32"],
        ),
    },
    settings={
        "lfm2_moe": Cases(
            "lfm2_moe", dict(SIZES, num_experts=6, moe_intermediate_size=32, num_hidden_layers=4, layer_types=[CONV, FULL, CONV, FULL]),
            [*theta(500.0), *KV], steps=[],
        ),
    },
    configs={
        "lfm2-8b-a1b": config(
            "Lfm2MoeForCausalLM", "lfm2_moe", 2048, 7168, 4, 32, 8, 65536, 128000, bos_token_id=1, conv_L_cache=3, conv_bias=False, eos_token_id=7,
            initializer_range=0.02, layer_types=[CONV, CONV, FULL, CONV], moe_intermediate_size=1792, norm_eps=1e-5, norm_topk_prob=True,
            num_dense_layers=2, num_experts=32, num_experts_per_tok=4, pad_token_id=0, rope_theta=1000000.0, routed_scaling_factor=1.0,
            use_expert_bias=True,
        ),
        "lfm2-moe-scaled": config(
            "Lfm2MoeForCausalLM", "lfm2_moe", 1024, 2048, 2, 16, 8, 1000, 4096, layer_types=[CONV, FULL], norm_topk_prob=False,
            routed_scaling_factor=2.5,
        ),
    },
    warned={"lfm2-moe-scaled": ["norm_topk_prob", "routed_scaling_factor"]},
)  # fmt: skip
