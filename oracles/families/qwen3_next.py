"""Qwen 3 Next."""

from families.qwen3_5 import next_model
from family_blocks import Family, Repository, config, edited, experts
from family_tokenizers import qwen2

LINEAR = dict(
    experts(3, 8), num_hidden_layers=2, layer_types=["linear_attention", "full_attention"], head_dim=8, shared_expert_intermediate_size=8,
    linear_conv_kernel_dim=4, linear_key_head_dim=4, linear_value_head_dim=4, linear_num_key_heads=2, linear_num_value_heads=4,
    rope_parameters=dict(rope_type="default", rope_theta=10000000.0, partial_rotary_factor=0.5),
)  # fmt: skip

FAMILY = Family(
    "Qwen3Next",
    to_gguf={
        "qwen3_next": Repository(LINEAR, qwen2, "qwen2", steps=[edited(next_model)]),
        "qwen3_next-same": Repository(
            dict(LINEAR, num_hidden_layers=3, layer_types=["linear_attention"] * 2 + ["full_attention"], linear_num_value_heads=2, head_dim=4),
            qwen2, "qwen2", without_next=True,
        ),
    },
)  # fmt: skip
