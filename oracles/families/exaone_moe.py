"""K-EXAONE."""

from families.exaone4 import KINDS, exaone, predicting
from family_blocks import LLAMA3, Family, Repository, config, edited, say
from settings_rows import ACT, EPS, NOTHING, WINDOW, Cases, each, kinds, row

SIZES = dict(
    num_hidden_layers=4, first_k_dense_replace=1, num_experts=3, num_experts_per_tok=2, num_shared_experts=1, moe_intermediate_size=8,
    intermediate_size=8, sliding_window=16,
)  # fmt: skip
SAID = dict(scoring_func="sigmoid", topk_method="noaux_tc", first_last_k_dense_replace=1)
NEXT = say(num_nextn_predict_layers=1, architectures=["ExaoneMoEForCausalLM"], **SAID)

FAMILY = Family(
    "ExaoneMoe",
    to_gguf={
        "exaone_moe": Repository(dict(SIZES, rope_parameters=LLAMA3), exaone, "gpt-2", steps=[say(**SAID)]),
        "exaone_moe-next": Repository(
            dict(SIZES, num_hidden_layers=2, num_experts=4, num_shared_experts=2, norm_topk_prob=False, n_group=2), exaone, "gpt-2",
            dtype="float16", types=["f32"], steps=[edited(predicting), NEXT],
        ),
    },
    configs={
        "k-exaone-236b-a23b": config(
            "ExaoneMoEForCausalLM", "exaone_moe", 6144, 18432, 48, 64, 8, 153600, 262144,
            attention_dropout=0.0, head_dim=128, hidden_act="silu", is_moe_layer=[False] + [True] * 47, layer_types=KINDS * 12,
            moe_intermediate_size=2048, n_group=1, topk_group=1, norm_topk_prob=True, num_experts=128, num_experts_per_tok=8,
            num_nextn_predict_layers=1, num_shared_experts=1, rms_norm_eps=1e-5, rope_parameters=dict(rope_theta=1000000, rope_type="default"),
            routed_scaling_factor=2.5, sliding_window=128, sliding_window_pattern="LLLG", tie_word_embeddings=False, **SAID,
        ),
        "exaone-moe-short": dict(architectures=["ExaoneMoeForCausalLM"], model_type="exaone_moe", scoring_func="sigmoid"),
    },
    settings={
        "exaone_moe": Cases(
            "exaone_moe",
            dict(
                first_k_dense_replace=1, num_experts=6, num_experts_per_tok=2, num_hidden_layers=4, num_shared_experts=1, moe_intermediate_size=32, sliding_window=WINDOW,
                layer_types=kinds("sssf"),
            ),
            [
                row("layer_types", "ffss", layer_types=kinds("ffss")), *each("norm_topk_prob", False), *each("routed_scaling_factor", 1.0),
                *[*ACT, *EPS, *NOTHING],
            ],
            steps=[],
        ),
    },
)  # fmt: skip
