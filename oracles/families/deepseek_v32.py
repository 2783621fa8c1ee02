"""DeepSeek V3.2, whose attention looks at some tokens only."""

import settings_rows as rows
from families.glm_moe_dsa import INDEXER
from family_blocks import DEEPSEEK, DEEPSEEK_YARN, LATENT, YARN, Family, Repository, config, edited, next_layer, say
from family_tokenizers import deepseek
from gguf_vocabularies import DEEPSEEK_V3, split
from settings_rows import Cases, each, row, yarn

v3 = deepseek(map(split, DEEPSEEK_V3))
SAID = dict(scoring_func="sigmoid", topk_method="noaux_tc")


def pairs(kind):
    """does not ask whether a token stands before texts, which the tokenizers of transformers 5 do not say"""
    kind.set_vocab = lambda self: self._set_vocab_gpt2()


FAMILY = Family(
    "DeepseekV32",
    to_gguf={
        "deepseek_v32": Repository(
            dict(LATENT, **INDEXER, rope_parameters=dict(YARN, mscale=1.0, mscale_all_dim=1.0)), v3, "deepseek-v3",
            steps=[edited(next_layer), say(num_nextn_predict_layers=1, ep_size=1, **SAID)], next_apart=True, mend=pairs,
        ),
        "deepseek_v32-groups": Repository(
            dict(LATENT, **INDEXER, num_hidden_layers=3, first_k_dense_replace=2, n_routed_experts=4, n_group=2, norm_topk_prob=False),
            v3, "deepseek-v3", dtype="float16", types=["f16"], steps=[say(**SAID)], mend=pairs,
        ),
    },
    configs={
        "deepseek-v3.2": config(
            "DeepseekV32ForCausalLM", "deepseek_v32", 7168, 18432, 61, 128, 128, 129280, 163840,
            **DEEPSEEK, first_k_dense_replace=3, index_head_dim=128, index_n_heads=64, index_topk=2048, moe_intermediate_size=2048, n_group=8,
            n_routed_experts=256, n_shared_experts=1, norm_topk_prob=True, num_experts_per_tok=8, num_nextn_predict_layers=1, q_lora_rank=1536,
            routed_scaling_factor=2.5, scoring_func="sigmoid", topk_group=4, topk_method="noaux_tc",
            rope_scaling=dict(DEEPSEEK_YARN, mscale=1.0, mscale_all_dim=1.0),
        ),
        "deepseek-v32-bare": dict(architectures=["DeepseekV32ForCausalLM"], model_type="deepseek_v32"),
    },
    beyond={"deepseek-v32-bare": ["deepseek32.expert_gating_func"]},
    settings={
        "deepseek_v32": Cases(
            "deepseek_v32-groups",
            dict(rows.LATENT, index_head_dim=64, index_n_heads=8, index_topk=4096),
            [
                *each("index_topk", 24),
                *each("index_head_dim", 32),
                row("n_group", "4, topk_group 2", n_group=4, topk_group=2),
                *each("norm_topk_prob", True),
                yarn(" mscale, mscale_all_dim", "1.0, 1.0", {}, mscale=1.0, mscale_all_dim=1.0),
                yarn(" mscale, mscale_all_dim", "0.707, 0.707", {}, mscale=0.707, mscale_all_dim=0.707),
                *each("rms_norm_eps", 0.1),
            ],
            steps=[],
        ),
    },
    back="deepseek_v32",
)  # fmt: skip
