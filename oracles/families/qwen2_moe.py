"""Qwen 1.5 and 2 with experts."""

from family_blocks import Family, Repository, Tiny, config, experts
from family_tokenizers import qwen2

FAMILY = Family(
    "Qwen2Moe",
    names={
        "qwen2moe": Tiny(dict(experts(4, 16), shared_expert_intermediate_size=12)),
    },
    to_gguf={
        "qwen2_moe": Repository(dict(experts(3, 8), shared_expert_intermediate_size=12), qwen2, "qwen2"),
    },
    configs={
        "qwen1.5-moe": config(
            "Qwen2MoeForCausalLM", "qwen2_moe", 2048, 5632, 24, 16, 16, 151936, 8192,
            moe_intermediate_size=1408, num_experts=60, num_experts_per_tok=4, shared_expert_intermediate_size=5632, rope_theta=1000000.0,
        ),
        "qwen2-moe-bare": dict(architectures=["Qwen2MoeForCausalLM"], model_type="qwen2_moe"),
    },
)
