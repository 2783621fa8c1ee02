"""Projectors behind the encoder of Whisper."""

from projector_blocks import linear, llama_text, norm
from projector_layouts import TEXT_CONFIG, convolution, golden, layered, modules

USUAL = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=3, num_attention_heads=2, num_mel_bins=8)
WHISPER = dict(d_model=16, encoder_ffn_dim=24, encoder_layers=3, encoder_attention_heads=2, num_mel_bins=8, model_type="whisper")


def encoder(prefix, layers=3, positions=12, last=True):
    linears = {"self_attn.q_proj": (16, 16), "self_attn.v_proj": (16, 16), "self_attn.out_proj": (16, 16)}
    linears.update(fc1=(24, 16), fc2=(16, 24))
    found = layered(f"{prefix}layers.", layers, linears, dict(self_attn_layer_norm=16, final_layer_norm=16))
    for layer in range(layers):
        found.update(linear(f"{prefix}layers.{layer}.self_attn.k_proj", 16, 16, False))
    return {
        **convolution(f"{prefix}conv1", [16, 8, 3]),
        **convolution(f"{prefix}conv2", [16, 16, 3]),
        f"{prefix}embed_positions.weight": [positions, 16],
        **found,
        **(norm(f"{prefix}layer_norm", 16) if last else {}),
    }


def said(kind, architecture, audio, key="audio_config", **more):
    return dict(architectures=[architecture], model_type=kind, **{key: audio}, **more)


def ultravox(**more):
    config = said("ultravox", "UltravoxModel", dict(WHISPER, **more), hidden_size=16, stack_factor=8, projector_act="swiglu")
    config.update(text_config=dict(TEXT_CONFIG, model_type="llama"))
    shapes = {**encoder("audio_tower."), **modules("multi_modal_projector.", dict(linear_1=(24, 128), linear_2=(16, 12)), bias=False)}
    shapes.update(modules("multi_modal_projector.", norms=dict(ln_pre=128, ln_mid=12), norm_bias=False))
    return config, shapes


def two_layers(kind, architecture, bias, text, **more):
    config = said(kind, architecture, dict(USUAL, model_type=f"{kind}_encoder", **more), text_config=dict(TEXT_CONFIG, model_type=text))
    return config, {**encoder("audio_tower."), **modules("multi_modal_projector.", dict(linear_1=(24, 64), linear_2=(16, 24)), bias=bias)}


def glm_asr(**more):
    config = said("Glmasr", "GlmasrModel", WHISPER, "whisper_config", lm_config=TEXT_CONFIG, merge_factor=4, **more)
    shapes = {**encoder("audio_encoder.whisper.", last=False), **norm("audio_encoder.layer_norm", 16)}
    shapes.update(modules("audio_encoder.adapting.", {"0": (24, 64), "2": (16, 24)}))
    return config, {**shapes, "audio_encoder.audio_bos_eos_token.weight": [2, 16]}


def meralion(**more):
    speech = dict(WHISPER, encoder_layers=4, num_hidden_layers=4)
    config = said("meralion2", "MERaLiON2ForConditionalGeneration", speech, "speech_config", text_config=TEXT_CONFIG, **more)
    adapter = {"mlp_adapter.0": (24, 64), "gate_proj": (24, 24), "pool_proj": (24, 24), "out_proj": (16, 24)}
    shapes = {**encoder("speech_encoder.", 4), **norm("ln_speech", 16), **modules("speech_audio_adapter.", adapter)}
    return config, shapes


def decoder(rows):
    return llama_text(rows, "text_decoder.model.", "text_decoder.lm_head.")


GOLDENS = {
    "ultravox": golden(*ultravox()),
    "ultravox-eps": golden(*ultravox(layer_norm_eps=1e-6), dtype="float32", types=["bf16"]),
    "voxtral": golden(*two_layers("voxtral", "VoxtralForConditionalGeneration", False, "llama"), types=["bf16"]),
    "audio_flamingo3": golden(*two_layers("audioflamingo3", "AudioFlamingo3ForConditionalGeneration", True, "qwen2")),
    "glm_asr": golden(*glm_asr(), text=llama_text),
    "meralion2": golden(*meralion(), text=decoder),
    "meralion2-scaled": golden(*meralion(speech_mlp_scale_factor=5), text=decoder, types=["bf16"]),
}
