"""Qwen 3.5 with experts."""

from family_blocks import LINEAR, Family, Repository, experts
from family_tokenizers import qwen35

FAMILY = Family(
    "Qwen3_5Moe",
    to_gguf={
        "qwen3_5_moe": Repository(
            dict(LINEAR, **experts(3, 8), shared_expert_intermediate_size=12, linear_value_head_dim=6),
            qwen35,
            "qwen35",
            dtype="float16",
            types=["f16"],
            without_next=True,
        ),
    },
    configs={
        "qwen3.5-moe-bare": dict(
            architectures=["Qwen3_5MoeForConditionalGeneration"], model_type="qwen3_5_moe", text_config=dict(mtp_num_hidden_layers=1)
        ),
    },
)
