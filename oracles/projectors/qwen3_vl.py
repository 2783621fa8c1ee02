"""Qwen 3-VL and Qwen 3.5, dense and with experts."""

import transformers
from family_tokenizers import qwen2, qwen35
from projector_blocks import HALVES, TEXT, Golden, with_part

TEXT = dict(TEXT, rope_parameters=dict(rope_type="default", rope_theta=5e6, mrope_section=[1, 1, 2], mrope_interleaved=True))
EXPERTS = dict(num_experts=2, num_experts_per_tok=1, moe_intermediate_size=16, decoder_sparse_step=1, norm_topk_prob=True)
VISION = dict(depth=3, hidden_size=8, intermediate_size=12, out_hidden_size=16, num_heads=2, patch_size=4, num_position_embeddings=16)
STACKED = dict(VISION, deepstack_visual_indexes=[0, 2])
LINEAR = dict(linear_conv_kernel_dim=2, linear_key_head_dim=8, linear_value_head_dim=8, linear_num_key_heads=1, linear_num_value_heads=2)
SHARED = dict(EXPERTS, shared_expert_intermediate_size=16)


def model(kind, text, vision):
    def make(settings):
        config = getattr(transformers, f"{kind}Config")(text_config=dict(text, **settings), vision_config=vision)
        return getattr(transformers, f"{kind}ForConditionalGeneration")(config)

    return make


GOLDENS = {
    "qwen3_vl": Golden(model("Qwen3VL", TEXT, STACKED), qwen2, HALVES),
    # Without the size of what is merged, and with another constant of norms.
    "qwen3_vl-silent": Golden(
        model("Qwen3VL", dict(TEXT, rms_norm_eps=1e-5), dict(STACKED, deepstack_visual_indexes=[1], num_position_embeddings=18)),
        qwen2,
        HALVES,
        dtype="float32",
        types=["bf16"],
        steps=[with_part("vision_config", spatial_merge_size=None)],
    ),
    "qwen3_vl_moe": Golden(model("Qwen3VLMoe", dict(TEXT, **EXPERTS), STACKED), qwen2, HALVES),
    "qwen3_5": Golden(model("Qwen3_5", dict(TEXT, **LINEAR), VISION), qwen35, HALVES),
    "qwen3_5_moe": Golden(model("Qwen3_5Moe", dict(TEXT, **LINEAR, **SHARED), VISION), qwen35, HALVES),
}
