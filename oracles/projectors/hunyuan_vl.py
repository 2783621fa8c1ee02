"""HunYuan-VL: an encoder, and convolutions that make its patches fewer."""

from projector_blocks import CLIP_COLOURS, llama_text, norm
from projector_layouts import TEXT_CONFIG, convolution, golden, layered, modules

PROCESSOR = dict(CLIP_COLOURS, min_pixels=262144, max_pixels=4194304)


def config(**more):
    vision = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=3, num_attention_heads=2, patch_size=2, out_hidden_size=16, **more)
    found = dict(TEXT_CONFIG, architectures=["HunYuanVLForConditionalGeneration"], model_type="hunyuan_vl")
    return dict(found, vision_config=vision)


def shapes():
    attention = dict.fromkeys([f"self_attn.{side}_proj" for side in "qkvo"], (16, 16))
    linears = {**attention, "mlp.dense_h_to_4h": (24, 16), "mlp.dense_4h_to_h": (16, 24)}
    return {
        **convolution("vit.embeddings.patch_embedding", [16, 3, 2, 2]),
        "vit.embeddings.position_embedding.weight": [17, 16],
        **layered("vit.layers.", 3, linears, dict(input_layernorm=16, post_attention_layernorm=16)),
        **norm("vit.perceive.before_rms", 16, False),
        **norm("vit.perceive.after_rms", 16, False),
        **convolution("vit.perceive.proj.0", [32, 16, 2, 2]),
        **convolution("vit.perceive.proj.2", [64, 32, 1, 1]),
        **modules("vit.perceive.", dict(mlp=(16, 64))),
        "vit.perceive.image_newline": [64],
        "vit.perceive.image_begin": [16],
        "vit.perceive.image_end": [16],
        "vit.perceive.image_sep": [16],
    }


GOLDENS = {
    "hunyuan_vl": golden(config(max_image_size=2048, rms_norm_eps=1e-5), shapes(), PROCESSOR, llama_text),
    "hunyuan_vl-bf16": golden(config(rms_norm_eps=1e-6, spatial_merge_size=2), shapes(), PROCESSOR, llama_text, types=["bf16"]),
}
