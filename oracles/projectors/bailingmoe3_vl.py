"""Ling 3 VL: Qwen 3's encoder with a norm for a merger, and a projection of its own."""

from projector_blocks import HALVES, llama_text
from projector_layouts import TEXT_CONFIG, golden, layered, modules

LINEARS = {"attn.qkv": (48, 16), "attn.proj": (16, 16), "mlp.linear_fc1": (24, 16), "mlp.linear_fc2": (16, 24)}
SHAPES = {
    "visual.patch_embed.proj.weight": [16, 3, 2, 2, 2],
    "visual.pos_embed.weight": [16, 16],
    **layered("visual.blocks.", 3, LINEARS, dict(norm1=16, norm2=16)),
    **modules("visual.merger.", norms=dict(norm=16)),
}


def config(**more):
    vision = dict(depth=3, hidden_size=16, intermediate_size=24, num_heads=2, patch_size=2, temporal_patch_size=2)
    vision.update(num_position_embeddings=16, out_hidden_size=64, disable_merger_proj=True, deepstack_visual_indexes=[], **more)
    found = dict(architectures=["BailingMoeV3VLForConditionalGeneration"], model_type="bailing_moe_v3_vl", vision_config=vision)
    return dict(found, text_config=TEXT_CONFIG)


def shapes(prefix):
    found = {prefix + name: shape for name, shape in SHAPES.items()}
    return {**found, **modules("linear_proj.", {"0": (24, 64), "2": (16, 24)})}


def text(rows):
    return llama_text(rows, "model.language_model.", "lm_head.")


GOLDENS = {
    "bailingmoe3_vl": golden(config(spatial_merge_size=2), shapes("model."), HALVES, text),
    "bailingmoe3_vl-flat": golden(config(image_size=16), shapes(""), HALVES, llama_text, types=["bf16"]),
}
