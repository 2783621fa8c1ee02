"""DeepSeek V2 and V2 Lite."""

from family_blocks import DEEPSEEK, DEEPSEEK_YARN, LATENT, YARN, Family, Repository, Tiny, config, say
from family_tokenizers import deepseek
from gguf_vocabularies import DEEPSEEK_CODER, digits, split

coder = deepseek([*map(split, DEEPSEEK_CODER), digits()[0]])
FAMILY = Family(
    "DeepseekV2",
    names={
        # As in the Lite models, queries are made directly.
        "deepseek2": Tiny(dict(LATENT, moe_intermediate_size=16, q_lora_rank=None), type="f16"),
    },
    to_gguf={
        "deepseek_v2": Repository(
            dict(LATENT, rope_parameters=YARN),
            coder,
            "deepseek-coder",
            steps=[say(scoring_func="softmax", aux_loss_alpha=0.001, seq_aux=True)],
        ),
        # As in the Lite models, queries are made directly. llama.cpp knows these by their number of layers.
        "deepseek_v2-lite": Repository(
            dict(LATENT, q_lora_rank=None, num_hidden_layers=26, first_k_dense_replace=25, intermediate_size=8),
            coder,
            "deepseek-coder",
            types=["f16"],
        ),
    },
    configs={
        "deepseek-v2-lite": config(
            "DeepseekV2ForCausalLM", "deepseek_v2", 2048, 10944, 27, 16, 16, 102400, 163840,
            **DEEPSEEK, first_k_dense_replace=1, moe_intermediate_size=1408, n_group=1, n_routed_experts=64, n_shared_experts=2,
            norm_topk_prob=False, num_experts_per_tok=6, q_lora_rank=None, routed_scaling_factor=1.0,
            scoring_func="softmax", topk_group=1, topk_method="greedy", rope_scaling=dict(DEEPSEEK_YARN, mscale=0.707, mscale_all_dim=0.707),
        ),
        "deepseek-v2-bare": dict(architectures=["DeepseekV2ForCausalLM"], model_type="deepseek_v2"),
    },
)
