"""Step 3 VL. The converter takes no other number of layers than 47, and no other width in a config; weights here are
narrower, but for the first norm."""

from projector_blocks import linear, norm
from projector_layouts import TEXT_CONFIG, convolution, golden, layered

LAYERS, WIDTH = 47, 2


def config():
    vision = dict(width=1536, layers=LAYERS, heads=16, image_size=728, patch_size=14, mlp_ratio=8960 / 1536, layer_norm_eps=1e-5)
    found = dict(architectures=["StepVLForConditionalGeneration"], model_type="step_robotics", vision_config=vision)
    return dict(found, text_config=TEXT_CONFIG, understand_projector_stride=2)


def shapes():
    start = "vision_model.transformer.resblocks."
    linears = {"attn.out_proj": (WIDTH, WIDTH), "mlp.c_fc": (WIDTH, WIDTH), "mlp.c_proj": (WIDTH, WIDTH)}
    found = layered(start, LAYERS, linears, dict(ln_1=WIDTH, ln_2=WIDTH))
    for layer in range(LAYERS):
        found.update({f"{start}{layer}.attn.in_proj_weight": [3 * WIDTH, WIDTH], f"{start}{layer}.attn.in_proj_bias": [3 * WIDTH]})
        found.update({f"{start}{layer}.ls_{number}.gamma": [WIDTH] for number in [1, 2]})
    found.update(norm(f"{start}0.ln_1", 1536))
    return {
        **found,
        **convolution("vision_model.conv1", [WIDTH, 3, 2, 2], False),
        "vision_model.positional_embedding": [4, WIDTH],
        **norm("vision_model.ln_pre", WIDTH),
        **convolution("vision_model.vit_downsampler1", [4, WIDTH, 3, 3]),
        **convolution("vision_model.vit_downsampler2", [8, 4, 3, 3]),
        **linear("vit_large_projector", 16, 8, False),
    }


def text(rows):
    return {"model.embed_tokens.weight": [rows, 2], "lm_head.weight": [rows, 2]}


GOLDENS = {"step3_vl": golden(config(), shapes(), text=text)}
