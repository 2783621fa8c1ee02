"""Phi-3.5 with experts."""

from families.phi3 import LONG, SHORT, phi3
from family_blocks import Family, Repository, config, say
from settings_rows import ACT, EPS, KV, NOTHING, Cases

SIZES = dict(num_local_experts=3, num_experts_per_tok=2, attention_bias=True, lm_head_bias=True, intermediate_size=8)
SCALED = dict(rope_type="longrope", rope_theta=10000.0, short_factor=[1.0, 1.05], long_factor=[1.0, 1.7], short_mscale=1.1, long_mscale=1.1)
CLASS = ["PhiMoEForCausalLM"]

FAMILY = Family(
    "Phimoe",
    to_gguf={
        "phimoe": Repository(
            dict(SIZES, num_hidden_layers=2, rope_parameters=dict(SCALED, original_max_position_embeddings=32)), phi3, None,
            steps=[say(architectures=CLASS)],
        ),
        "phimoe-short": Repository(
            dict(SIZES, num_local_experts=4, num_key_value_heads=1, sliding_window=16), phi3, None, dtype="float16", types=["f32"],
            steps=[say(architectures=CLASS, original_max_position_embeddings=64)],
        ),
    },
    configs={
        "phi-3.5-moe": config(
            "PhiMoEForCausalLM", "phimoe", 4096, 6400, 32, 32, 8, 32064, 131072,
            attention_bias=True, hidden_act="silu", input_jitter_noise=0.01, lm_head_bias=True, num_experts_per_tok=2, num_local_experts=16,
            original_max_position_embeddings=4096, rms_norm_eps=1e-5, rope_theta=10000.0, router_jitter_noise=0.01, sliding_window=131072,
            rope_scaling=dict(
                long_factor=[*LONG, *LONG[:16]], short_factor=[*SHORT, *SHORT[:16]], long_mscale=1.243163121016122, short_mscale=1.243163121016122,
                original_max_position_embeddings=4096, type="longrope",
            ),
        ),
    },
    warned={"phi-3.5-moe": ["rope_scaling.short_mscale", "router_jitter_noise"]},
    settings={
        "phimoe": Cases("phimoe", dict(num_local_experts=6, num_experts_per_tok=2, intermediate_size=32, attention_bias=True, lm_head_bias=True), [*ACT, *EPS, *KV, *NOTHING], steps=[]),
    },
    back="phimoe",
)  # fmt: skip
