"""Sarashina 2 Vision: the encoder of Qwen 2-VL."""

from projector_blocks import CLIP_COLOURS, llama_text
from projector_layouts import TEXT_CONFIG, golden, layered, modules

LINEARS = {"attn.qkv": (48, 16), "attn.proj": (16, 16), "mlp.fc1": (32, 16), "mlp.fc2": (16, 32)}


def config(**more):
    vision = dict(depth=3, embed_dim=16, hidden_size=16, num_heads=2, patch_size=2, mlp_ratio=2, spatial_merge_size=2, temporal_patch_size=2)
    found = dict(architectures=["Sarashina2VisionForCausalLM"], model_type="sarashina2_vision", vision_config=vision)
    return dict(found, text_config=TEXT_CONFIG, **more)


SHAPES = {
    "visual.patch_embed.proj.weight": [16, 3, 2, 2, 2],
    **layered("visual.blocks.", 3, LINEARS, dict(norm1=16, norm2=16)),
    **modules("visual.merger.", {"mlp.0": (64, 64), "mlp.2": (16, 64)}, dict(ln_q=16)),
    "norm.weight": [16],
}


def text(rows):
    return llama_text(rows, "llm.model.", "llm.lm_head.")


GOLDENS = {
    "sarashina2_vision": golden(config(), SHAPES, CLIP_COLOURS, text),
    "sarashina2_vision-eps": golden(config(rms_norm_eps=1e-5), SHAPES, CLIP_COLOURS, text, types=["bf16"]),
}
