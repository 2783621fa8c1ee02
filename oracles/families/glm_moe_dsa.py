"""GLM 5, whose attention looks at some tokens only."""

import settings_rows as rows
from families.glm4_moe import glm4_moe
from family_blocks import LATENT, Family, Repository, config, edited, next_layer, say
from settings_rows import Cases, each, row, yarn

# llama.cpp turns keys in blocks of 64.
INDEXER = dict(index_head_dim=64, index_n_heads=2, index_topk=4)
# Published configs say what the class does not know.
SAID = dict(scoring_func="sigmoid", topk_method="noaux_tc")

FAMILY = Family(
    "GlmMoeDsa",
    to_gguf={
        "glm_moe_dsa": Repository(
            dict(LATENT, **INDEXER), glm4_moe, "glm4", steps=[edited(next_layer), say(num_nextn_predict_layers=1, **SAID)], next_apart=True
        ),
        # Layers that take the choice of others.
        "glm_moe_dsa-shared": Repository(
            dict(LATENT, **INDEXER, num_hidden_layers=3, n_shared_experts=2, indexer_types=["full", "shared", "full"]),
            glm4_moe, "glm4", dtype="float16", types=["f32"], steps=[say(**SAID)],
        ),
    },
    configs={
        "glm-5": config(
            "GlmMoeDsaForCausalLM", "glm_moe_dsa", 6144, 12288, 78, 64, 64, 154880, 202752,
            attention_bias=False, ep_size=1, first_k_dense_replace=3, hidden_act="silu", head_dim=64, index_head_dim=128, index_n_heads=32,
            index_topk=2048, indexer_rope_interleave=True, kv_lora_rank=512, moe_intermediate_size=2048, moe_layer_freq=1, n_group=1,
            n_routed_experts=256, n_shared_experts=1, norm_topk_prob=True, num_experts_per_tok=8, num_nextn_predict_layers=1, q_lora_rank=2048,
            qk_head_dim=256, qk_nope_head_dim=192, qk_rope_head_dim=64, rms_norm_eps=1e-5, rope_interleave=True,
            rope_parameters=dict(rope_theta=1000000, rope_type="default"), routed_scaling_factor=2.5, scoring_func="sigmoid", topk_group=1,
            topk_method="noaux_tc", v_head_dim=256,
        ),
        "glm-moe-dsa-every-fourth": dict(
            architectures=["GlmMoeDsaForCausalLM"], model_type="glm_moe_dsa", num_hidden_layers=9, index_topk_freq=4, index_skip_topk_offset=3
        ),
        "glm-moe-dsa-pattern": dict(
            architectures=["GlmMoeDsaForCausalLM"], model_type="glm_moe_dsa", num_hidden_layers=4, index_topk_pattern="FSFS"
        ),
    },
    warned={name: ["rms_norm_eps"] for name in ("glm-5", "glm-moe-dsa-every-fourth", "glm-moe-dsa-pattern")},
    settings={
        "glm_moe_dsa": Cases(
            "glm_moe_dsa-shared",
            dict(rows.LATENT, index_head_dim=64, index_n_heads=8, index_topk=4096, rms_norm_eps=1e-6),
            [
                *each("index_topk", 24),
                *each("index_head_dim", 32),
                row("indexer_types", "full, shared, full, shared", indexer_types=["full", "shared"] * 2),
                row("mlp_layer_types", "dense, sparse, dense, sparse", mlp_layer_types=["dense", "sparse"] * 2),
                *each("norm_topk_prob", True),
                yarn(" mscale_all_dim", "0.707", {}, mscale_all_dim=0.707),
                *each("rms_norm_eps", 0.1),
            ],
            steps=[],
        ),
    },
    back="glm_moe_dsa",
)  # fmt: skip
