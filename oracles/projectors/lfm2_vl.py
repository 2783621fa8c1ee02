"""LFM2-VL: SigLIP 2, with or without its last layer."""

from projector_blocks import HALVES, llama_text
from projector_layouts import TEXT_CONFIG, golden, modules, siglip


def config(**more):
    vision = dict(model_type="siglip2_vision_model", hidden_size=8, intermediate_size=16, num_hidden_layers=3, num_attention_heads=2)
    text = dict(TEXT_CONFIG, model_type="lfm2", conv_L_cache=3, full_attn_idxs=[0])
    found = dict(architectures=["Lfm2VlForConditionalGeneration"], model_type="lfm2_vl", vision_config=vision)
    return dict(found, text_config=text, **more)


def shapes():
    return {
        **siglip("model.vision_tower.vision_model.", 3, 16, 16, 8, 16, flat=True),
        **modules("model.multi_modal_projector.", dict(linear_1=(24, 32), linear_2=(16, 24)), dict(layer_norm=32)),
    }


def text(rows):
    found = llama_text(rows, "model.language_model.")
    return {name: shape for name, shape in found.items() if name != "lm_head.weight"}


GOLDENS = {
    "lfm2_vl": golden(config(downsample_factor=2), shapes(), HALVES, text),
    "lfm2_vl-dropped": golden(config(vision_feature_layer=-2, downsample_factor=3), shapes(), HALVES, text, types=["bf16"]),
}
