"""Mistral 4, as the language model of a class with vision."""

from families.mistral3 import VISION, YARN, named, tekken
from family_blocks import Family, Repository, shape

import transformers

TEXT = dict(
    model_type="mistral4", num_hidden_layers=2, first_k_dense_replace=1, n_routed_experts=3, n_shared_experts=1, num_experts_per_tok=2,
    moe_intermediate_size=8, n_group=1, topk_group=1, num_key_value_heads=4, q_lora_rank=12, kv_lora_rank=10, qk_nope_head_dim=4,
    qk_rope_head_dim=4, v_head_dim=8, rope_parameters=dict(YARN, partial_rotary_factor=0.5),
)  # fmt: skip


def with_vision(text):
    whole = transformers.Mistral3Config(text_config=text, vision_config=dict(VISION, model_type="pixtral"), tie_word_embeddings=False)
    return transformers.Mistral3ForConditionalGeneration(whole)


FAMILY = Family(
    with_vision,
    to_gguf={
        "mistral4": Repository(TEXT, tekken, "tekken", mend=named),
        "mistral4-dense": Repository(
            dict(TEXT, first_k_dense_replace=0, q_lora_rank=6, n_shared_experts=2, routed_scaling_factor=1.5), tekken, "tekken", types=["f32"], mend=named
        ),
    },
    configs={
        "mistral-small-4": dict(
            architectures=["Mistral3ForConditionalGeneration"], model_type="mistral3", tie_word_embeddings=False,
            text_config=dict(shape(4096, 12288, 36, 32, 32, 131072, 1048576), model_type="mistral4"),
        ),
    },
    warned={"mistral-small-4": ["rope_scaling.llama_4_scaling_beta"]},
)  # fmt: skip
