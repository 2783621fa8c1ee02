"""The language model of Qwen 3 VL with experts."""

from families.qwen3_vl import SECTIONS, SPLIT, VISION
from family_blocks import Family, Repository, edited, shape
from family_tokenizers import qwen2
from settings_rows import ACT, EPS, KV, NOTHING, Cases, each, rope, theta

import transformers


def with_vision(text):
    whole = transformers.Qwen3VLMoeConfig(text_config=text, vision_config=VISION, tie_word_embeddings=False)
    return transformers.Qwen3VLMoeForConditionalGeneration(whole)


def published(tensors, generator):
    """Experts as repositories have them, which transformers transposes when it reads them."""
    for name in [name for name in tensors if ".mlp.experts." in name]:
        tensors[name] = tensors[name].transpose(1, 2).contiguous()


MIXED = dict(head_dim=8, num_local_experts=3, num_experts_per_tok=2, moe_intermediate_size=8, rope_parameters=SECTIONS)

FAMILY = Family(
    with_vision,
    to_gguf={
        "qwen3_vl_moe": Repository(MIXED, qwen2, "qwen2"),
        "qwen3_vl_moe-f32": Repository(dict(MIXED, num_hidden_layers=2, num_local_experts=4), qwen2, "qwen2", dtype="float32", types=["f32"]),
    },
    configs={
        "qwen3-vl-30b-a3b": dict(
            architectures=["Qwen3VLMoeForConditionalGeneration"], model_type="qwen3_vl_moe", tie_word_embeddings=False,
            text_config=dict(
                shape(2048, 6144, 48, 32, 4, 151936, 262144), model_type="qwen3_vl_moe_text", attention_bias=False, decoder_sparse_step=1,
                head_dim=128, mlp_only_layers=[], moe_intermediate_size=768, norm_topk_prob=True, num_experts=128, num_experts_per_tok=8,
                rms_norm_eps=1e-6, rope_scaling=dict(mrope_interleaved=True, mrope_section=[24, 20, 20], rope_type="default"),
                rope_theta=5000000,
            ),
            vision_config=dict(depth=27, deepstack_visual_indexes=[8, 16, 24], hidden_size=1152, model_type="qwen3_vl_moe"),
        ),
    },
    settings={
        "qwen3_vl_moe": Cases(
            "qwen3_vl_moe",
            dict(head_dim=16, num_local_experts=6, num_experts_per_tok=2, moe_intermediate_size=24, **rope(**SPLIT)),
            [*theta(500.0, **SPLIT), *each("num_experts_per_tok", 1), *ACT, *EPS, *KV, *NOTHING],
            steps=[edited(published)],
        ),
    },
)  # fmt: skip
