"""Youtu-VL: SigLIP 2 with windows."""

from projector_blocks import HALVES, linear, llama_text, norm
from projector_layouts import TEXT_CONFIG, golden, modules, siglip


def config(**more):
    vision = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=3, num_attention_heads=2, patch_size=2, **more)
    return dict(TEXT_CONFIG, architectures=["YoutuVLForConditionalGeneration"], model_type="youtu_vl", vision_config=vision)


def shapes():
    encoder = siglip("siglip2.vision_model.", 3)
    del encoder["siglip2.vision_model.embeddings.position_embedding.weight"]
    encoder.update(linear("siglip2.vision_model.embeddings.patch_embedding", 16, 12))
    return {**encoder, **norm("merger.ln_q", 16, False), **modules("merger.", {"mlp.0": (24, 64), "mlp.2": (16, 24)})}


GOLDENS = {
    "youtu_vl": golden(config(fullatt_block_indexes=[0, 2], window_size=16, hidden_act="gelu_pytorch_tanh"), shapes(), HALVES, llama_text),
    "youtu_vl-silu": golden(
        config(fullatt_block_indexes=[1], hidden_act="silu", image_size=256, spatial_merge_size=2, layer_norm_eps=1e-5),
        shapes(),
        HALVES,
        llama_text,
        types=["bf16"],
    ),
}
