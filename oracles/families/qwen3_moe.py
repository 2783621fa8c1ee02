"""Qwen 3 with experts."""

import gguf_stored as stored
from family_blocks import WIDE, Family, Repository, Tiny, config, experts
from family_tokenizers import qwen2

FAMILY = Family(
    "Qwen3Moe",
    names={
        "qwen3moe": Tiny(experts(4, 16), fused=True),
    },
    to_gguf={
        "qwen3_moe": Repository(dict(experts(3, 8), head_dim=4), qwen2, "qwen2", types=["f32", "bf16"]),
        "qwen3_moe-nvfp4": Repository(dict(experts(3, 64), **WIDE), qwen2, "qwen2", types=["auto"], steps=[stored.nvfp4]),
    },
    configs={
        "qwen3-moe": config(
            "Qwen3MoeForCausalLM", "qwen3_moe", 2048, 6144, 48, 32, 4, 151936, 40960,
            head_dim=128, moe_intermediate_size=768, num_experts=128, num_experts_per_tok=8, rope_theta=1000000.0,
        ),
        "qwen3-moe-bare": dict(architectures=["Qwen3MoeForCausalLM"], model_type="qwen3_moe"),
    },
    warned={"qwen3-moe": ["norm_topk_prob"], "qwen3-moe-bare": ["norm_topk_prob"]},
)
