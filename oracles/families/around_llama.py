"""Classes around the language models of Llama, Qwen 2 and others: with encoders, or under another name."""

import json
import os

import family_layouts as layouts
from family_blocks import LLAMA3, Family, Repository, edited
from family_tokenizers import llama3, meta, qwen2

import transformers

PIXTRAL = dict(model_type="pixtral", hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, head_dim=4, image_size=8)
PIXTRAL = dict(PIXTRAL, patch_size=4)
SOUND = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, num_mel_bins=8, max_source_positions=8)
ENCODER = dict(d_model=8, encoder_ffn_dim=8, encoder_layers=1, encoder_attention_heads=2, num_mel_bins=8, max_source_positions=8)


def llava(kind):
    def model(text):
        said = dict(text, model_type=kind)
        return transformers.LlavaForConditionalGeneration(transformers.LlavaConfig(text_config=said, vision_config=PIXTRAL, tie_word_embeddings=False))

    return model


def voxtral(text):
    whole = transformers.VoxtralConfig(text_config=dict(text, model_type="llama"), audio_config=dict(SOUND, model_type="voxtral_encoder"))
    return transformers.VoxtralForConditionalGeneration(whole)


def qwen2_audio(text):
    said = dict(text, model_type="qwen2")
    whole = transformers.Qwen2AudioConfig(text_config=said, audio_config=dict(ENCODER, model_type="qwen2_audio_encoder"))
    return transformers.Qwen2AudioForConditionalGeneration(whole)


def audio_flamingo(text):
    said = dict(text, model_type="qwen2")
    whole = transformers.AudioFlamingo3Config(text_config=said, audio_config=dict(SOUND, model_type="audioflamingo3_encoder"))
    return transformers.AudioFlamingo3ForConditionalGeneration(whole)


def as_published(tensors, _):
    """Names of published checkpoints, where transformers writes a part of them twice."""
    for name in [name for name in tensors if "language_model.model.model." in name]:
        tensors[name.replace("model.model.", "model.", 1)] = tensors.pop(name)


def fewer_pictures(tensors, _):
    """Most of what makes images is left out here, too: it is large."""
    for name in [name for name in tensors if name.startswith("model.vqmodel.") and "quant_conv" not in name]:
        del tensors[name]


def janus(text):
    vision = dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4, projection_dim=16)
    pictures = dict(embed_dim=8, num_embeddings=8, latent_channels=8, base_channels=32, channel_multiplier=[1], num_res_blocks=1)
    pictures = dict(pictures, projection_dim=16, image_token_embed_dim=16, num_patches=2)
    whole = transformers.JanusConfig(text_config=dict(text, model_type="llama"), vision_config=vision, vq_config=pictures)
    return transformers.JanusForConditionalGeneration(whole)


CONFIG = dict(
    architectures=["LlamaForCausalLM"], model_type="llama", hidden_act="silu", hidden_size=16, intermediate_size=24, max_position_embeddings=64,
    num_attention_heads=4, num_hidden_layers=1, num_key_value_heads=2, rms_norm_eps=1e-5, rope_theta=500000.0, tie_word_embeddings=False,
    attention_bias=False, head_dim=4,
)  # fmt: skip


def decoder(tokens, prefix="model.", head="lm_head", heads=4, keys=2, bias=(), norms=("input_layernorm", "post_attention_layernorm")):
    """A decoder of one layer, with biases of some projections."""
    layer = f"{prefix}layers.0"
    found = layouts.trunk(tokens, prefix=prefix, head=False) | {f"{head}.weight": [tokens, 16]}
    found |= layouts.attention(layer, heads, keys, 4) | layouts.mlp(f"{layer}.mlp", 24) | layouts.inside(layer, {name: [16] for name in norms})
    for part in bias:
        found[f"{layer}.self_attn.{part}.bias"] = [16 if part == "q_proj" else 4 * keys]
    return found


def qwen_bias(tokens):
    vision = {"vision_tower.blocks.0.attn.qkv.weight": [24, 8], "vision_tower.merger.ln_q.weight": [8]}
    return decoder(tokens, bias=("q_proj", "k_proj", "v_proj")) | vision


def sarashina(tokens):
    return decoder(tokens, "llm.model.", "llm.lm_head") | {"norm.weight": [16], "visual.blocks.0.norm1.weight": [8]}


def smol(tokens):
    return decoder(tokens, "model.text_model.") | {"model.connector.modality_projection.proj.weight": [16, 8], "model.vision_model.post_layernorm.weight": [8]}


def step_vl(tokens):
    norms = layouts.inside("model.layers.0.self_attn", dict(q_norm=[4], k_norm=[4]))
    return decoder(tokens) | norms | {"vit_large_projector.weight": [16, 8], "vision_model.ln_pre.weight": [8]}


def in_text(**more):
    """A config with that of the language model within."""
    return dict(architectures=["SmolVLMForConditionalGeneration"], model_type="smolvlm", text_config=dict(CONFIG, **more), vision_config={})


def phi4(tokens):
    layer = "model.layers.0"
    found = layouts.trunk(tokens) | layouts.norms(layer) | {"model.mm_projector.0.weight": [16, 8], "model.vision_tower.head.weight": [8]}
    found |= layouts.inside(f"{layer}.self_attn", dict(qkv_proj=[32, 16], o_proj=[16, 16]))
    return found | layouts.inside(f"{layer}.mlp", dict(gate_up_proj=[48, 16], down_proj=[16, 24]))


PHI4 = dict(architectures=["Phi4ForCausalLMV"], model_type="phi4-siglip", original_max_position_embeddings=64, partial_rotary_factor=1.0)
PHI4 = dict(PHI4, rope_scaling=None, sliding_window=64, bos_token_id=1, eos_token_id=2)
TEXT = dict(architectures=["DotsOCRForCausalLM"], model_type="dots_ocr", vision_config=dict(embed_dim=8), use_sliding_window=False)
STEP = dict(architectures=["StepVLForConditionalGeneration"], model_type="step_robotics", understand_projector_stride=2)


def laid_out(said, shapes, **more):
    """The rows of the embedding belong to the config of the language model."""

    def write(folder, tokens):
        layouts.laid_out(said, shapes, **more)(folder, tokens)
        path = os.path.join(folder, "config.json")
        content = json.load(open(path, encoding="utf-8"))
        if "text_config" in content:
            content["text_config"]["vocab_size"] = content.pop("vocab_size")
        layouts.write_json(folder, "config.json", content, indent=2)

    return write


FAMILY = Family(
    None,
    to_gguf={
        "llava-pixtral": Repository(dict(head_dim=8), meta, None, model=llava("mistral")),
        "llava-llama": Repository(dict(num_hidden_layers=2, rope_parameters=LLAMA3), llama3, "llama-bpe", types=["f32"], model=llava("llama")),
        "voxtral": Repository(dict(head_dim=8), meta, None, model=voxtral, steps=[edited(as_published)]),
        "qwen2_audio": Repository({}, qwen2, "qwen2", model=qwen2_audio, steps=[edited(as_published)]),
        "audioflamingo3": Repository({}, qwen2, "qwen2", model=audio_flamingo, steps=[edited(as_published)]),
        "janus": Repository(dict(head_dim=4), llama3, "llama-bpe", model=janus, steps=[edited(fewer_pictures)]),
        "iquestcoder": Repository({}, llama3, "llama-bpe", laid_out=layouts.laid_out(dict(CONFIG, architectures=["IQuestCoderForCausalLM"], model_type="iquestcoder"), decoder)),
        "vllama3": Repository({}, llama3, "llama-bpe", laid_out=laid_out(in_text(architectures=["VLlama3ForCausalLM"]), smol)),
        "dots_ocr": Repository({}, qwen2, "qwen2", laid_out=layouts.laid_out(dict(CONFIG, **TEXT), qwen_bias)),
        "sarashina2_vision": Repository(
            {}, meta, None,
            laid_out=laid_out(dict(architectures=["Sarashina2VisionForCausalLM"], model_type="sarashina2_vision", text_config=CONFIG), sarashina),
        ),
        "step_vl": Repository({}, qwen2, "qwen2", laid_out=laid_out(dict(STEP, text_config=dict(CONFIG, model_type="qwen3", head_dim=4, architectures=["Qwen3ForCausalLM"])), step_vl)),
        "phi4v": Repository({}, meta, None, laid_out=layouts.laid_out(dict(CONFIG, **PHI4), phi4)),
        "kormo": Repository(
            {}, qwen2, "qwen2",
            laid_out=layouts.laid_out(
                dict(CONFIG, architectures=["KORMoForCausalLM"], model_type="kormo", head_dim=4),
                lambda tokens: decoder(tokens, norms=("pre_attention_layernorm", "pre_mlp_layernorm")),
            ),
        ),
    },
)  # fmt: skip
