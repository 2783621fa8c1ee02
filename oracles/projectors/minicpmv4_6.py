"""MiniCPM-V 4.6: SigLIP, with a layer between its layers that makes patches fewer."""

from projector_blocks import HALVES, llama_text
from projector_layouts import TEXT_CONFIG, golden, modules, siglip


def config(**more):
    vision = dict(model_type="minicpmv4_6_vision", hidden_size=16, intermediate_size=24, num_hidden_layers=3, num_attention_heads=2)
    vision.update(image_size=8, patch_size=2)
    found = dict(architectures=["MiniCPMV4_6ForConditionalGeneration"], model_type="minicpmv4_6", vision_config=vision)
    return dict(found, text_config=dict(TEXT_CONFIG, model_type="qwen3_5_text"), **more)


def shapes():
    square = dict.fromkeys([f"self_attn.{name}_proj" for name in ["q", "k", "v", "out"]], (16, 16))
    merger = {**square, "linear_1": (24, 64), "linear_2": (16, 24)}
    return {
        **siglip("model.vision_tower.", 3),
        **modules("model.vision_tower.vit_merger.", merger, dict(layer_norm1=16, pre_norm=64)),
        **modules("model.merger.mlp.0.", dict(linear_1=(24, 64), linear_2=(16, 24)), dict(pre_norm=64)),
    }


def text(rows):
    return llama_text(rows, "model.language_model.", "lm_head.")


GOLDENS = {
    "minicpmv4_6": golden(config(insert_layer_id=1), shapes(), dict(HALVES, scale_resolution=448), text),
    "minicpmv4_6-4x": golden(config(), shapes(), dict(HALVES, downsample_mode="4x"), text, types=["bf16"]),
}
