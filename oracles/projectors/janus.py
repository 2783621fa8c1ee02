"""Janus: SigLIP, and an aligner of several layers; what makes images is left out."""

from projector_blocks import HALVES, llama_text
from projector_layouts import TEXT_CONFIG, golden, modules, siglip

VISION = dict(model_type="janus_vision_model", hidden_size=16, num_hidden_layers=3, num_attention_heads=2, image_size=8, patch_size=2)


def config(**more):
    vision = dict(VISION, mlp_ratio=1.5, projection_dim=16, **more)
    found = dict(architectures=["JanusForConditionalGeneration"], model_type="janus", vision_config=vision)
    return dict(found, text_config=dict(TEXT_CONFIG, model_type="llama"), vq_config=dict(model_type="janus_vqgan"))


def shapes(depth):
    aligner = {"fc1": (16, 16), **{f"hidden_layers.{layer}": (16, 16) for layer in range(depth - 1)}}
    return {
        **siglip("model.vision_model.", 3, out="projection_layer"),
        **modules("model.aligner.", aligner),
        **modules("model.generation_aligner.", dict(fc1=(8, 8))),
        "model.generation_embeddings.weight": [8, 8],
        "model.vqmodel.quantize.embedding.weight": [8, 8],
        **modules("model.generation_head.", dict(proj_out=(8, 16), vision_head=(8, 8))),
    }


def text(rows):
    return llama_text(rows, "model.language_model.", "lm_head.")


GOLDENS = {
    "janus": golden(config(depth=2), shapes(2), HALVES, text),
    "janus-silu": golden(config(depth=3, hidden_act="silu", layer_norm_eps=1e-5), shapes(3), HALVES, text, types=["bf16"]),
}
