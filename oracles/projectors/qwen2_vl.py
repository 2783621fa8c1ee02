"""Qwen 2-VL and 2.5-VL, in transformers' layout and in the published one."""

import transformers
from family_tokenizers import qwen2
from projector_blocks import CLIP_COLOURS, TEXT, Golden

TEXT = dict(TEXT, rope_scaling=dict(type="mrope", mrope_section=[1, 1, 2]))


def qwen2_vl(settings):
    vision = dict(depth=3, embed_dim=16, hidden_size=16, num_heads=2, patch_size=4, mlp_ratio=2)
    config = transformers.Qwen2VLConfig(text_config=dict(TEXT, rms_norm_eps=1e-5, **settings), vision_config=vision)
    return transformers.Qwen2VLForConditionalGeneration(config)


def qwen2_5_vl(settings):
    vision = dict(depth=4, hidden_size=16, intermediate_size=24, out_hidden_size=16, num_heads=2, patch_size=4)
    vision.update(fullatt_block_indexes=[1, 3], window_size=16)
    config = transformers.Qwen2_5_VLConfig(text_config=dict(TEXT, **settings), vision_config=vision)
    return transformers.Qwen2_5_VLForConditionalGeneration(config)


GOLDENS = {
    "qwen2_vl": Golden(qwen2_vl, qwen2, dict(CLIP_COLOURS, min_pixels=3136, max_pixels=12845056)),
    "qwen2_5_vl": Golden(qwen2_5_vl, qwen2, CLIP_COLOURS),
    "qwen2_5_vl-bf16": Golden(qwen2_5_vl, qwen2, CLIP_COLOURS, types=["bf16"]),
}
