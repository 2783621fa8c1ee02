"""InternVL, in its own layout and in that of transformers."""

import transformers
from family_tokenizers import qwen2
from projector_blocks import TEXT, Golden, laid_out, linear, llama_text, norm, renamed, with_part

COLOURS = dict(image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225])
VISION = dict(hidden_size=8, intermediate_size=12, num_hidden_layers=4, num_attention_heads=2, layer_norm_eps=1e-6, hidden_act="gelu")


def config(bias, normed, **more):
    vision = dict(VISION, architectures=["InternVisionModel"], model_type="intern_vit_6b", image_size=16, patch_size=4)
    vision.update(qkv_bias=bias, qk_normalization=normed, norm_type="layer_norm" if bias else "rms_norm")
    text = dict(architectures=["Qwen2ForCausalLM"], model_type="qwen2", **TEXT)
    top = dict(architectures=["InternVLChatModel"], model_type="internvl_chat", vision_config=vision, downsample_ratio=0.5, **more)
    return lambda rows: dict(top, llm_config=dict(text, vocab_size=rows), auto_map=dict(AutoConfig="configuration_internvl_chat.InternVLChatConfig"))


def shapes(bias, normed):
    def made(rows):
        found = llama_text(rows, "language_model.model.", "language_model.lm_head.")
        found.update({"vision_model.embeddings.class_embedding": [1, 1, 8], "vision_model.embeddings.position_embedding": [1, 17, 8]})
        found.update({"vision_model.embeddings.patch_embedding.weight": [8, 3, 4, 4], "vision_model.embeddings.patch_embedding.bias": [8]})
        for layer in range(4):
            start = f"vision_model.encoder.layers.{layer}."
            found.update({f"{start}ls1": [8], f"{start}ls2": [8]})
            found.update(linear(f"{start}attn.qkv", 24, 8, bias) | linear(f"{start}attn.proj", 8, 8))
            found.update(linear(f"{start}mlp.fc1", 12, 8) | linear(f"{start}mlp.fc2", 8, 12))
            found.update(norm(f"{start}norm1", 8, bias) | norm(f"{start}norm2", 8, bias))
            if normed:
                found.update(norm(f"{start}attn.q_norm", 8, False) | norm(f"{start}attn.k_norm", 8, False))
        found.update(norm("mlp1.0", 32) | linear("mlp1.1", 16, 32) | linear("mlp1.3", 16, 16))
        return found

    return made


def in_transformers(settings):
    vision = dict(VISION, image_size=[16, 16], patch_size=[4, 4], attention_bias=True, norm_type="layer_norm")
    config = transformers.InternVLConfig(text_config=dict(TEXT, model_type="qwen2", **settings), vision_config=vision, image_token_id=5)
    return transformers.InternVLForConditionalGeneration(config)


# As Intern-S1 is published; the converter knows these names only.
with_model = renamed(("vision_tower.", "model.vision_tower."), ("multi_modal_projector.", "model.multi_modal_projector."))
named = with_part("vision_config", architectures=["InternVisionModel"])

GOLDENS = {
    "internvl": Golden(None, qwen2, COLOURS, laid_out=laid_out(config(True, False, min_dynamic_patch=1, max_dynamic_patch=12), shapes(True, False))),
    "internvl-normed": Golden(None, qwen2, COLOURS, types=["bf16"], laid_out=laid_out(config(False, True), shapes(False, True), "float32")),
    "internvl-hf": Golden(in_transformers, qwen2, COLOURS, steps=[named, with_model]),
}
