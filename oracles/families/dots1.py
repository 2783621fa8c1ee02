"""dots.llm1."""

import settings_rows as rows
from family_blocks import DENSE_FIRST, Family, Repository, config, say
from family_tokenizers import qwen2
from settings_rows import BIAS, ROUTED_ROWS, USUAL, Cases, each, row

SIZES = dict(DENSE_FIRST, num_key_value_heads=4)
FAMILY = Family(
    "Dots1",
    to_gguf={
        "dots1": Repository(dict(SIZES, norm_topk_prob=True, routed_scaling_factor=2.5), qwen2, "qwen2", steps=[say(scoring_func="sigmoid")]),
        "dots1-wide": Repository(
            dict(SIZES, head_dim=8, n_routed_experts=4, n_shared_experts=2, first_k_dense_replace=0, n_group=2), qwen2, "qwen2", dtype="float16",
            types=["f32"], steps=[say(scoring_func="sigmoid")],
        ),
    },
    configs={
        "dots.llm1": config(
            "Dots1ForCausalLM", "dots1", 4096, 10944, 62, 32, 32, 152064, 32768,
            attention_bias=False, first_k_dense_replace=1, hidden_act="silu", moe_intermediate_size=1408, moe_layer_freq=1, n_routed_experts=128,
            n_shared_experts=2, n_group=1, topk_group=1, norm_topk_prob=True, num_experts_per_tok=6, routed_scaling_factor=2.5,
            sliding_window=None, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=10000000, max_window_layers=62, use_sliding_window=False,
        ),
        "dots1-short": dict(
            architectures=["Dots1ForCausalLM"], model_type="dots1", n_routed_experts=8, n_shared_experts=1, moe_intermediate_size=64,
        ),
    },
    beyond={"dots.llm1": ["dots1.expert_gating_func"], "dots1-short": ["dots1.expert_gating_func"]},
    settings={
        "dots1": Cases(
            "dots1",
            dict(rows.ROUTED, num_key_value_heads=4, head_dim=16, norm_topk_prob=True, routed_scaling_factor=2.5),
            [
                *each("norm_topk_prob", False),
                row("n_group", "4, topk_group 2", n_group=4, topk_group=2),
                row("max_window_layers", "2, sliding_window 8", sliding_window=8, max_window_layers=2),
                row("sliding_window", "None", sliding_window=None),
                *BIAS,
                *ROUTED_ROWS,
                *USUAL,
            ],
            steps=[],
        ),
    },
    back="dots1",
)  # fmt: skip
