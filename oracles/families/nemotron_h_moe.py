"""Nemotron-H with experts, as Nemotron 3 has them."""

import family_layouts as layouts
import torch
from families.apertus import tekken
from families.nemotron_h import COMMON, ROWS, layers, trunk
from family_blocks import Family, Repository

CONFIG = dict(
    COMMON, head_dim=8, hybrid_override_pattern="ME*E", moe_intermediate_size=12, moe_shared_expert_intermediate_size=20, n_group=1,
    n_routed_experts=3, n_shared_experts=1, norm_topk_prob=True, num_experts_per_tok=2, partial_rotary_factor=1.0, rope_theta=10000,
    routed_scaling_factor=2.5, topk_group=1,
)  # fmt: skip


def network(latent=None):
    def build(name):
        width = latent or 16
        found = {f"{name}.gate.weight": [3, 16], f"{name}.gate.e_score_correction_bias": [3]}
        for expert in range(3):
            found |= layouts.mlp(f"{name}.experts.{expert}", 12, width, gated=False)
        found |= layouts.mlp(f"{name}.shared_experts", 20, gated=False)
        return found | (layouts.inside(name, dict(fc1_latent_proj=[width, 16], fc2_latent_proj=[16, width])) if latent else {})

    return build


FAMILY = Family(
    None,
    to_gguf={
        "nemotron_h_moe": Repository(
            {}, tekken, "tekken", types=["bf16"], spare=ROWS,
            laid_out=layouts.laid_out(
                CONFIG, lambda tokens: trunk(tokens) | layers("ME*E", 2, 8, network()), single=["A_log", "D", "e_score_correction_bias"]
            ),
        ),
        # The experts see a shorter vector.
        "nemotron_h_moe-latent": Repository(
            {}, tekken, "tekken", types=["f32"], spare=ROWS,
            laid_out=layouts.laid_out(
                dict(CONFIG, hybrid_override_pattern="E*MM", moe_latent_size=8, num_key_value_heads=4, norm_topk_prob=False),
                lambda tokens: trunk(tokens) | layers("E*MM", 4, 8, network(8)), torch.float32,
            ),
        ),
    },
    configs={
        "nemotron-3-nano": dict(
            CONFIG, expand=2, head_dim=128, hidden_size=2688, hybrid_override_pattern="MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
            intermediate_size=1856, mamba_head_dim=64, mamba_num_heads=64, max_position_embeddings=262144, moe_intermediate_size=1856,
            moe_shared_expert_intermediate_size=3712, n_groups=8, n_routed_experts=128, num_attention_heads=32, num_experts_per_tok=6,
            num_hidden_layers=52, num_key_value_heads=2, ssm_state_size=128, vocab_size=131072,
        ),
    },
)  # fmt: skip
