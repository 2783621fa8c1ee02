"""Phi-4 with SigLIP 2: of the encoder, all layers but the last."""

from projector_blocks import HALVES, llama_text
from projector_layouts import TEXT_CONFIG, golden, modules, siglip


def config(**more):
    vision = dict(model_type="siglip2_vision_model", hidden_size=16, intermediate_size=24, num_hidden_layers=3, num_attention_heads=2)
    found = dict(TEXT_CONFIG, architectures=["Phi4ForCausalLMV"], model_type="phi4-siglip", vision_config=vision)
    return dict(found, **more)


def shapes(prefix, projector):
    return {
        **siglip(f"{prefix}vision_tower.vision_model.", 3, flat=True),
        **modules(f"{prefix}vision_tower.vision_model.head.", {"mlp.fc1": (24, 16)}, dict(layernorm=16)),
        **modules(projector, {"0": (24, 16), "2": (16, 24)}),
    }


PROCESSOR = dict(HALVES, patch_size=2)
NESTED = "model.vision_tower."

GOLDENS = {
    "phi4_v": golden(config(), shapes(NESTED, "model.mm_projector."), dict(PROCESSOR, min_num_patches=256, max_num_patches=3600), llama_text),
    "phi4_v-flat": golden(config(min_num_patches=128, max_num_patches=1024), shapes("", "mm_projector."), PROCESSOR, llama_text, types=["bf16"]),
}
