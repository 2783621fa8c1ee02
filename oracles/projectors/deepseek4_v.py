"""DeepSeek V4 with an encoder, whose settings are among those of the language model."""

from projector_blocks import HALVES, linear, llama_text, norm
from projector_layouts import TEXT_CONFIG, golden, layered


def config(**more):
    found = dict(TEXT_CONFIG, architectures=["DeepseekV4ForCausalLM"], vision_n_layers=3, vision_dim=16, vision_n_heads=2)
    found.update(vision_inter_dim=24, vision_patch_size=2, vision_downsample_ratio=3, vision_min_pixels=3136)
    return dict(found, vision_max_n_token=384, vision_max_wh_ratio=8, **more)


LINEARS = {"attn.wqkv": (48, 16), "attn.wo": (16, 16), "mlp.w1": (48, 16), "mlp.w2": (16, 24)}
SHAPES = {
    **linear("vision.patch_embed.proj", 16, 12),
    **layered("vision.blocks.", 3, LINEARS, dict(norm1=16, norm2=16), bias=False, norm_bias=False),
    **norm("vision.norm", 16, False),
    **linear("aligner.w1", 24, 144, False),
    **linear("aligner.w2", 16, 24, False),
    **{f"image_{name}": [16] for name in ["newline", "start", "end", "pad"]},
}

GOLDENS = {
    "deepseek4_v": golden(config(), SHAPES, text=llama_text),
    "deepseek4_v-mean": golden(config(vision_rope_theta=5000.0), SHAPES, dict(HALVES, image_mean=[0.4, 0.4, 0.4]), llama_text, types=["bf16"]),
}
