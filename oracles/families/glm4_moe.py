"""GLM 4.5 and 4.6."""

import gguf_vocabularies as vocabularies
from family_blocks import DENSE_FIRST, Family, Repository, Tiny, config, edited, last_is_next, next_layer, say
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level, split

glm4_moe = plain_bpe(
    [split(vocabularies.LLAMA3), byte_level()],
    "PreTrainedTokenizerFast",
    "<|endoftext|>",
    "<|endoftext|>",
    *["[gMASK]", "<|user|>", "<|observation|>"],
)
SETTINGS = dict(DENSE_FIRST, use_qk_norm=True, attention_bias=True)
FAMILY = Family(
    "Glm4Moe",
    names={
        # The converter keeps the layer that predicts one more token.
        "glm4moe": Tiny(
            dict(SETTINGS, moe_intermediate_size=16),
            steps=[edited(last_is_next), say(num_hidden_layers=1, num_nextn_predict_layers=1)],
            laid_out="what is special to the last layer laid out after published checkpoints",
        ),
    },
    to_gguf={
        "glm4_moe": Repository(dict(SETTINGS, head_dim=4), glm4_moe, "glm4", steps=[edited(next_layer), say(num_nextn_predict_layers=1)], next_apart=True),
    },
    configs={
        "glm-4.5-air": config(
            "Glm4MoeForCausalLM", "glm4_moe", 4096, 10944, 46, 96, 8, 151552, 131072,
            attention_bias=True, head_dim=128, partial_rotary_factor=0.5, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=1000000,
            moe_intermediate_size=1408, norm_topk_prob=True, num_experts_per_tok=8, n_group=1, topk_group=1, n_routed_experts=128,
            n_shared_experts=1, routed_scaling_factor=1.0, first_k_dense_replace=1, num_nextn_predict_layers=1, use_qk_norm=False,
        ),
        "glm4-moe-bare": dict(architectures=["Glm4MoeForCausalLM"], model_type="glm4_moe"),
    },
)
