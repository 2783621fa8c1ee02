"""PaddleOCR-VL: SigLIP whose positions are packed while it is trained."""

from projector_blocks import HALVES, llama_text
from projector_layouts import TEXT_CONFIG, convolution, golden, modules, siglip

PROCESSOR = dict(HALVES, min_pixels=147384, max_pixels=2822400)


def config(**more):
    vision = dict(architectures=["PaddleOCRVisionModel"], model_type="paddleocr_vl", hidden_size=16, intermediate_size=24)
    vision.update(num_hidden_layers=3, num_attention_heads=2, image_size=8, patch_size=2, **more)
    found = dict(TEXT_CONFIG, architectures=["PaddleOCRVLForConditionalGeneration"], model_type="paddleocr_vl")
    return dict(found, vision_config=vision)


def shapes():
    head = convolution("visual.vision_model.head.attention.in_proj", [48, 16])
    return {
        **siglip("visual.vision_model.", 3),
        "visual.vision_model.embeddings.packing_position_embedding.weight": [32, 16],
        **{name.replace("in_proj.", "in_proj_"): shape for name, shape in head.items()},
        **modules("visual.vision_model.head.", {"mlp.fc1": (24, 16)}, dict(layernorm=16)),
        **modules("mlp_AR.", dict(linear_1=(24, 64), linear_2=(16, 24)), dict(pre_norm=16)),
    }


GOLDENS = {
    "paddle_ocr": golden(config(), shapes(), PROCESSOR, llama_text),
    "paddle_ocr-eps": golden(config(rms_norm_eps=1e-5), shapes(), dict(PROCESSOR, max_pixels=1003520), llama_text, types=["bf16"]),
}
