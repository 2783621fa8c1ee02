"""Kimi-VL, Kimi-K2.5 and GLM-5V: MoonViT in two layouts."""

from projector_blocks import HALVES, linear, norm
from projector_layouts import TEXT_CONFIG, convolution, golden, layered, modules


def moonvit(layers, hidden, inner, grid, patch):
    linears = {"wqkv": (3 * hidden, hidden), "wo": (hidden, hidden), "mlp.fc0": (inner, hidden), "mlp.fc1": (hidden, inner)}
    return {
        "vision_tower.patch_embed.pos_emb.weight": [*grid, hidden],
        **convolution("vision_tower.patch_embed.proj", [hidden, 3, patch, patch]),
        **layered("vision_tower.encoder.blocks.", layers, linears, dict(norm0=hidden, norm1=hidden)),
        **norm("vision_tower.encoder.final_layernorm", hidden),
    }


def kimi_vl(**more):
    vision = dict(model_type="moonvit", hidden_size=16, intermediate_size=24, num_hidden_layers=3, num_attention_heads=2)
    vision.update(patch_size=4, merge_kernel_size=[2, 2], init_pos_emb_height=3, init_pos_emb_width=4, **more)
    shapes = {**moonvit(3, 16, 24, [3, 4], 4), **norm("multi_modal_projector.pre_norm", 16)}
    shapes.update(modules("multi_modal_projector.", dict(linear_1=(24, 64), linear_2=(16, 24))))
    config = dict(architectures=["KimiVLForConditionalGeneration"], model_type="kimi_vl", vision_config=vision)
    return dict(config, text_config=TEXT_CONFIG, media_placeholder_token_id=5), shapes


def mm_projector(first, second, width, inner):
    return {**norm("mm_projector.pre_norm", width), **linear(first, inner, 4 * width), **linear(second, 16, inner)}


def kimi_k25():
    vision = dict(vt_hidden_size=16, vt_intermediate_size=24, vt_num_hidden_layers=3, num_attention_heads=2)
    vision.update(patch_size=2, merge_kernel_size=[2, 2], init_pos_emb_height=3, init_pos_emb_width=4, init_pos_emb_time=2)
    vision.update(projector_hidden_act="gelu", projector_ln_eps=1e-5, mm_projector_type="patchmerger")
    shapes = {**moonvit(3, 16, 24, [3, 4], 2), **mm_projector("mm_projector.proj.0", "mm_projector.proj.2", 16, 24)}
    config = dict(architectures=["KimiK25ForConditionalGeneration"], model_type="kimi_k25", vision_config=vision)
    return dict(config, text_config=TEXT_CONFIG), shapes


def glm5v():
    vision = dict(hidden_size=24, intermediate_size=16, num_hidden_layers=3, num_attention_heads=3, patch_size=2)
    vision.update(merge_kernel_size=[2, 2], projector_hidden_act="silu", projector_ln_eps=1e-6)
    shapes = {**moonvit(3, 24, 16, [2, 2], 2), **mm_projector("mm_projector.linear_1", "mm_projector.linear_2", 24, 16)}
    config = dict(architectures=["Glm5vForConditionalGeneration"], model_type="glm5v", vision_config=vision)
    return dict(config, text_config=TEXT_CONFIG), shapes


GOLDENS = {
    "kimi_vl": golden(*kimi_vl(), HALVES),
    "kimi_vl-eps": golden(*kimi_vl(layer_norm_eps=1e-6), HALVES, dtype="float16", types=["bf16"]),
    "kimi_k25": golden(*kimi_k25(), dict(media_proc_cfg=dict(HALVES, in_patch_limit=4096)), types=["bf16"], as_stated=True),
    "glm5v": golden(*glm5v(), HALVES),
}
