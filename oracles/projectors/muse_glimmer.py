"""Muse Glimmer: patches of several images at once."""

from projector_blocks import HALVES, linear, llama_text, norm
from projector_layouts import TEXT_CONFIG, golden, layered


def config(**more):
    vision = dict(model_type="muse_glimmer_vision", hidden_size=16, intermediate_size=24, num_hidden_layers=3, num_attention_heads=2)
    vision.update(patch_size=2, pos_emb_height=3, pos_emb_width=4, **more)
    found = dict(architectures=["MuseGlimmerForConditionalGeneration"], model_type="muse_glimmer", vision_config=vision)
    text = dict(TEXT_CONFIG, model_type="muse_glimmer_text")
    return dict(found, text_config=text, projector_hidden_size=24, out_hidden_size=64)


def shapes(times):
    square = dict.fromkeys(["attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.proj"], (16, 16))
    linears = {**square, "mlp.fc1": (24, 16), "mlp.fc2": (16, 24)}
    return {
        "model.vision_tower.patch_embedder.patch_embedding.weight": [16, times * 12],
        "model.vision_tower.patch_embedder.position_embedding_table.weight": [12, 16],
        **layered("model.vision_tower.layers.", 3, linears, dict(norm1=16, norm2=16)),
        **norm("model.vision_tower.ln_pre", 16),
        **norm("model.vision_tower.ln_post", 16),
        **linear("model.vision_adapter.fc1", 24, 64, False),
        **linear("model.vision_adapter.fc2", 24, 24, False),
        **linear("model.vision_projection", 16, 24, False),
    }


def text(rows):
    return llama_text(rows, "model.language_model.", "lm_head.")


GOLDENS = {
    "muse_glimmer": golden(config(), shapes(2), HALVES, text),
    "muse_glimmer-one": golden(config(patch_temporal=1, merge_size=1, layer_norm_eps=1e-6), shapes(1), HALVES, text, types=["bf16"]),
}
