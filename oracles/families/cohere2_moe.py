"""North."""

from family_blocks import Family, Repository, config, edited, next_layer, say
from family_tokenizers import cohere
from settings_rows import ACT, NOTHING, WINDOW, Cases, each, kinds, row

SIZES = dict(num_experts=3, num_experts_per_tok=2, intermediate_size=8, head_dim=4, sliding_window=16)
KINDS = ["sliding_attention"] * 3 + ["full_attention"]

FAMILY = Family(
    "Cohere2Moe",
    to_gguf={
        "cohere2_moe": Repository(
            dict(
                SIZES, num_hidden_layers=4, num_shared_experts=1, prefix_dense_intermediate_size=12, expert_selection_fn="sigmoid", logit_scale=0.25,
                mlp_layer_types=["dense"] + ["sparse"] * 3, layer_types=["full_attention"] + KINDS[:3],
            ),
            cohere, "command-r",
        ),
        "cohere2_moe-next": Repository(
            dict(SIZES, num_hidden_layers=1, num_experts=4, head_dim=8, layer_types=["sliding_attention"], rms_norm_eps=1e-6, norm_topk_prob=False, tie_word_embeddings=False),
            cohere, "command-r", types=["f32"], steps=[edited(next_layer), say(num_nextn_predict_layers=1)],
        ),
    },
    configs={
        "north-mini-code-1.0": config(
            "Cohere2MoeForCausalLM", "cohere2_moe", 2048, 768, 49, 32, 4, 262144, 262144,
            expert_selection_fn="sigmoid", first_k_dense_replace=1, head_dim=128, hidden_act="silu", layer_norm_eps=1e-5, logit_scale=1.0,
            num_experts=128, num_experts_per_tok=8, num_shared_experts=1, prefix_dense_intermediate_size=6144, rope_theta=50000, sliding_window=4096,
            sliding_window_pattern=4, prefix_dense_sliding_window_pattern=1, norm_topk_prob=True, tie_word_embeddings=True,
        ),
    },
    settings={
        "cohere2_moe": Cases(
            "cohere2_moe",
            dict(
                num_experts=6, num_experts_per_tok=2, intermediate_size=32, head_dim=16, sliding_window=WINDOW, layer_types=kinds("sssf"),
                mlp_layer_types=["dense"] + ["sparse"] * 3, prefix_dense_intermediate_size=64, expert_selection_fn="sigmoid",
            ),
            [
                row("layer_types", "sfsf", layer_types=kinds("sfsf")), *each("expert_selection_fn", "softmax"), *each("norm_topk_prob", False),
                *[*each("num_shared_experts", 1, 2), *each("rms_norm_eps", 1e-3), *each("logit_scale", 0.5), *ACT, *NOTHING],
            ],
            steps=[],
        ),
    },
)  # fmt: skip
