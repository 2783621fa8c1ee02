"""Granite 4 Vision: SigLIP, and a Q-Former for each layer of the language model that sees an image."""

from projector_blocks import HALVES, linear, llama_text, norm
from projector_layouts import TEXT_CONFIG, golden, modules, siglip
from projectors.granite_speech import qformer


def projectors(kind, count):
    found = {}
    for number in range(count):
        own = f"model.{kind}_projectors.{number}."
        found.update({f"{own}image_positions": [1, 4, 8], f"{own}query": [1, 2, 8], **norm(f"{own}norm", 8), **linear(f"{own}out_linear", 16, 8)})
        found.update(qformer(f"{own}qformer.", 1, 8, 8))
    return found


def shapes(layerwise, spatial):
    return {
        **siglip("model.vision_tower.vision_model.", 4, hidden=8, inner=12),
        **modules("model.vision_tower.vision_model.head.", {"mlp.fc1": (12, 8)}, dict(layernorm=8)),
        **projectors("layerwise", layerwise),
        **projectors("spatial", spatial),
        "model.image_newline": [16],
    }


def config(**more):
    vision = dict(model_type="siglip_vision_model", hidden_size=8, intermediate_size=12, num_hidden_layers=4, num_attention_heads=2)
    vision.update(image_size=8, patch_size=2)
    found = dict(architectures=["Granite4VisionForConditionalGeneration"], model_type="granite4_vision", vision_config=vision)
    text = dict(TEXT_CONFIG, model_type="granite4_vision_text", num_hidden_layers=6)
    return dict(found, text_config=text, downsample_rate="4/8", **more)


def text(rows):
    return llama_text(rows, "model.language_model.", "lm_head.")


GOLDENS = {
    "granite4_vision": golden(
        config(deepstack_layer_map=[[-2, 5], [1, 0]], spatial_target_layers=[3, 1], image_grid_pinpoints=[[8, 16], [16, 8]]),
        shapes(2, 2),
        HALVES,
        lambda rows: {"model.language_model.embed_tokens.weight": [rows, 2], "lm_head.weight": [rows, 2]},
    ),
    "granite4_vision-deep": golden(config(deepstack_layer_map=[[2, -1]], spatial_target_layers=[]), shapes(1, 0), HALVES, text, types=["bf16"]),
}
