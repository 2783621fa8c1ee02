"""dots.ocr: an encoder with gated layers and norms without a mean."""

from projector_blocks import CLIP_COLOURS, llama_text, norm
from projector_layouts import TEXT_CONFIG, convolution, golden, layered, modules

VISION = dict(embed_dim=16, hidden_size=16, intermediate_size=24, num_hidden_layers=3, num_attention_heads=2, patch_size=2)
PROCESSOR = dict(CLIP_COLOURS, min_pixels=3136, max_pixels=11289600)


def shapes(bias):
    linears = {"attn.qkv": (48, 16), "attn.proj": (16, 16), "mlp.fc1": (24, 16), "mlp.fc2": (16, 24), "mlp.fc3": (24, 16)}
    return {
        **convolution("vision_tower.patch_embed.patchifier.proj", [16, 3, 2, 2]),
        **norm("vision_tower.patch_embed.patchifier.norm", 16, False),
        **layered("vision_tower.blocks.", 3, linears, dict(norm1=16, norm2=16), bias=bias, norm_bias=False),
        **norm("vision_tower.post_trunk_norm", 16, False),
        **norm("vision_tower.merger.ln_q", 16),
        **modules("vision_tower.merger.", {"mlp.0": (24, 64), "mlp.2": (16, 24)}),
    }


def config(**more):
    vision = dict(VISION, rms_norm_eps=1e-5, spatial_merge_size=2, temporal_patch_size=1, use_bias=False, post_norm=True, **more)
    return dict(TEXT_CONFIG, architectures=["DotsOCRForCausalLM"], model_type="dots_ocr", vision_config=vision)


GOLDENS = {
    "dots_ocr": golden(config(), shapes(False), PROCESSOR, llama_text),
    "dots_ocr-bias": golden(config(num_channels=3), shapes(True), PROCESSOR, llama_text, types=["bf16"]),
}
