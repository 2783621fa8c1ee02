"""DeepSeek V3 and R1."""

from family_blocks import DEEPSEEK, DEEPSEEK_YARN, LATENT, YARN, Family, Repository, Tiny, config, edited, last_is_next, next_layer, say
from family_tokenizers import deepseek
from gguf_vocabularies import DEEPSEEK_V3, split

FAMILY = Family(
    "DeepseekV3",
    names={
        # The converter drops the layer that predicts one more token.
        "deepseek3": Tiny(
            dict(LATENT, moe_intermediate_size=16, num_hidden_layers=3),
            steps=[edited(last_is_next), say(num_hidden_layers=2, num_nextn_predict_layers=1)],
            laid_out="what is special to the last layer laid out after published checkpoints",
        ),
    },
    to_gguf={
        "deepseek_v3": Repository(
            dict(LATENT, rope_parameters=YARN),
            deepseek(map(split, DEEPSEEK_V3)),
            "deepseek-v3",
            steps=[edited(next_layer), say(num_nextn_predict_layers=1, scoring_func="sigmoid", topk_method="noaux_tc", ep_size=1)],
        ),
    },
    configs={
        "deepseek-v3": config(
            "DeepseekV3ForCausalLM", "deepseek_v3", 7168, 18432, 61, 128, 128, 129280, 163840,
            **DEEPSEEK, first_k_dense_replace=3, moe_intermediate_size=2048, n_group=8, n_routed_experts=256, n_shared_experts=1,
            norm_topk_prob=True, num_experts_per_tok=8, num_nextn_predict_layers=1, q_lora_rank=1536, routed_scaling_factor=2.5,
            scoring_func="sigmoid", topk_group=4, topk_method="noaux_tc", rope_scaling=dict(DEEPSEEK_YARN, mscale=1.0, mscale_all_dim=1.0),
        ),
        "deepseek-v3-bare": dict(architectures=["DeepseekV3ForCausalLM"], model_type="deepseek_v3"),
    },
    beyond={"deepseek-v3-bare": ["deepseek2.expert_gating_func"]},
)
