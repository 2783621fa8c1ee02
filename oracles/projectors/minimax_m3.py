"""MiniMax M3: CLIP over two images, with heads of 80 numbers that turn about three axes."""

from projector_blocks import CLIP_COLOURS, llama_text, norm
from projector_layouts import TEXT_CONFIG, golden, layered, modules

START = "vision_tower.vision_model."


def config(**more):
    vision = dict(hidden_size=8, intermediate_size=16, num_hidden_layers=3, num_attention_heads=1, image_size=2016, patch_size=2)
    found = dict(architectures=["MiniMaxM3SparseForConditionalGeneration"], model_type="minimax_m3", vision_config=dict(vision, **more))
    return dict(found, text_config=TEXT_CONFIG, projector_hidden_size=24)


def shapes(heads):
    wide = dict.fromkeys([f"self_attn.{name}_proj" for name in "qkv"], (80 * heads, 8))
    linears = {**wide, "self_attn.out_proj": (8, 80 * heads), "mlp.fc1": (16, 8), "mlp.fc2": (8, 16)}
    return {
        f"{START}embeddings.patch_embedding.weight": [8, 3, 2, 2, 2],
        **norm(f"{START}pre_layrnorm", 8),
        **layered(f"{START}encoder.layers.", 3, linears, dict(layer_norm1=8, layer_norm2=8)),
        **modules("multi_modal_projector.", dict(linear_1=(24, 8), linear_2=(16, 24))),
        **modules("patch_merge_mlp.", dict(linear_1=(24, 64), linear_2=(16, 24))),
    }


def text(rows):
    return llama_text(rows, "language_model.model.", "language_model.lm_head.")


GOLDENS = {
    "minimax_m3": golden(config(), shapes(1), CLIP_COLOURS, text),
    "minimax_m3-heads": golden(
        config(num_attention_heads=2, num_hidden_layers=3, layer_norm_eps=1e-6, img_token_compression_config=dict(spatial_merge_size=4)),
        shapes(2),
        CLIP_COLOURS,
        lambda rows: {"language_model.model.norm.weight": [16]},
        types=["bf16"],
    ),
}
