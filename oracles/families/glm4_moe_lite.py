"""GLM-4.7 Flash."""

import settings_rows as rows
from families.glm4_moe import glm4_moe
from family_blocks import LATENT, YARN, Family, Repository, config, edited, next_layer, say
from settings_rows import EXPERTS, LATENT_ROWS, Cases, each, row

# Published configs say what the converter asks for, and the class does not know.
FIRST = dict(first_k_dense_replace=1, scoring_func="sigmoid")
SETTINGS = {key: value for key, value in LATENT.items() if key != "first_k_dense_replace"}

FAMILY = Family(
    "Glm4MoeLite",
    to_gguf={
        "glm4_moe_lite": Repository(
            SETTINGS, glm4_moe, "glm4", steps=[edited(next_layer), say(num_nextn_predict_layers=1, **FIRST)]
        ),
        "glm4_moe_lite-yarn": Repository(
            dict(SETTINGS, num_hidden_layers=3, mlp_layer_types=["dense", "dense", "sparse"], n_group=3, topk_group=2, rope_parameters=YARN),
            glm4_moe, "glm4", dtype="float16", types=["f16"], steps=[say(**FIRST | dict(first_k_dense_replace=2))],
        ),
    },
    configs={
        "glm-4.7-flash": config(
            "Glm4MoeLiteForCausalLM", "glm4_moe_lite", 2048, 10240, 47, 20, 20, 154880, 202752,
            attention_bias=False, first_k_dense_replace=1, kv_lora_rank=512, moe_intermediate_size=1536, n_group=1, n_routed_experts=64,
            n_shared_experts=1, norm_topk_prob=True, num_experts_per_tok=4, num_nextn_predict_layers=1, partial_rotary_factor=1.0,
            q_lora_rank=768, qk_nope_head_dim=192, qk_rope_head_dim=64, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=1000000,
            routed_scaling_factor=1.8, topk_group=1, topk_method="noaux_tc", v_head_dim=256,
        ),
        "glm4-moe-lite-bare": dict(architectures=["Glm4MoeLiteForCausalLM"], model_type="glm4_moe_lite"),
    },
    warned={"glm-4.7-flash": ["rms_norm_eps"], "glm4-moe-lite-bare": ["rms_norm_eps"]},
    beyond={
        "glm-4.7-flash": ["deepseek2.expert_gating_func"],
        "glm4-moe-lite-bare": ["deepseek2.expert_gating_func", "deepseek2.leading_dense_block_count"],
    },
    settings={
        "glm4_moe_lite": Cases(
            "glm4_moe_lite-yarn",
            dict({key: value for key, value in rows.LATENT.items() if key != "first_k_dense_replace"}, rms_norm_eps=1e-6),
            [
                *each("mlp_layer_types", ["dense", "dense", "sparse", "sparse"], ["dense", "sparse", "dense", "sparse"], ["sparse"] * 4),
                row("n_group", "4, topk_group 2", n_group=4, topk_group=2),
                *each("norm_topk_prob", True),
                *each("n_shared_experts", 2),
                *each("routed_scaling_factor", 1.0, 2.5),
                *EXPERTS,
                *LATENT_ROWS,
            ],
            steps=[],
        ),
    },
    back="glm4_moe_lite",
)  # fmt: skip
