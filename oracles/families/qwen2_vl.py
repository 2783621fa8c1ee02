"""The language models of Qwen 2 VL, Qwen 2.5 VL and Qwen 2.5 Omni."""

from family_blocks import Family, Repository, change, config, edited, numbers, say, shape
from family_tokenizers import qwen2
from settings_rows import ACT, EPS, KV, NOTHING, Cases, rope, theta

import transformers

SECTIONS = dict(rope_type="default", rope_theta=1000000.0, mrope_section=[1, 1, 0])
VISION = dict(depth=1, embed_dim=8, hidden_size=16, num_heads=2, patch_size=4)
VISION_2_5 = dict(depth=1, hidden_size=8, intermediate_size=8, out_hidden_size=16, num_heads=2, patch_size=4)


def qwen2_vl(text):
    return transformers.Qwen2VLForConditionalGeneration(transformers.Qwen2VLConfig(text_config=text, vision_config=VISION))


def qwen2_5_vl(text):
    whole = transformers.Qwen2_5_VLConfig(text_config=text, vision_config=VISION_2_5, tie_word_embeddings=True)
    return transformers.Qwen2_5_VLForConditionalGeneration(whole)


def omni(text):
    audio = dict(d_model=8, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=8, num_mel_bins=8, n_window=4, output_dim=16)
    thinker = dict(text_config=text, vision_config=VISION_2_5, audio_config=audio)
    whole = transformers.Qwen2_5OmniConfig(thinker_config=thinker, enable_audio_output=False)
    return transformers.Qwen2_5OmniForConditionalGeneration(whole)


def as_published(folder):
    """The class that published configs name."""
    change(folder, lambda config: dict(config, architectures=["Qwen2_5OmniModel"]))


def speaking(tensors, generator):
    """Adds a part of the model that speaks, which has embeddings and layers of its own."""
    for name, shape in {"embed_tokens": [8, 8], "layers.0.mlp.up_proj": [8, 8], "norm": [8]}.items():
        tensors[f"talker.model.{name}.weight"] = numbers(shape, generator).bfloat16()


FAMILY = Family(
    qwen2_vl,
    to_gguf={
        "qwen2_vl": Repository(dict(num_hidden_layers=2, rope_parameters=SECTIONS), qwen2, "qwen2"),
        "qwen2_5_vl": Repository(dict(rope_parameters=SECTIONS, num_key_value_heads=4), qwen2, "qwen2", types=["f32"], model=qwen2_5_vl),
        "qwen2_vl-bare": Repository(dict(rope_parameters=SECTIONS), qwen2, "qwen2", steps=[say(architectures=["Qwen2VLModel"])]),
        "qwen2_5_omni": Repository(dict(rope_parameters=SECTIONS), qwen2, "qwen2", types=["auto"], model=omni, steps=[as_published, edited(speaking)]),
    },
    configs={
        "qwen2-vl-7b": config(
            "Qwen2VLForConditionalGeneration", "qwen2_vl", 3584, 18944, 28, 28, 4, 152064, 32768,
            max_window_layers=28, rms_norm_eps=1e-6, rope_scaling=dict(type="mrope", mrope_section=[16, 24, 24]), rope_theta=1000000.0,
            sliding_window=32768, use_sliding_window=False, tie_word_embeddings=False, vision_config=dict(depth=32, embed_dim=1280),
        ),
        "qwen2.5-vl-3b": config(
            "Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl", 2048, 11008, 36, 16, 2, 151936, 128000,
            max_window_layers=70, rms_norm_eps=1e-6, rope_scaling=dict(type="mrope", mrope_section=[16, 24, 24]), rope_theta=1000000.0,
            sliding_window=32768, use_sliding_window=False, tie_word_embeddings=True, vision_config=dict(depth=32, hidden_size=1280),
        ),
        "qwen2.5-omni-7b": dict(
            architectures=["Qwen2_5OmniModel"], model_type="qwen2_5_omni", enable_audio_output=True,
            thinker_config=dict(
                model_type="qwen2_5_omni_thinker",
                text_config=dict(
                    shape(3584, 18944, 28, 28, 4, 152064, 32768), model_type="qwen2_5_omni_text", max_window_layers=28, rms_norm_eps=1e-6,
                    rope_theta=1000000.0, rope_scaling=dict(type="default", rope_type="default", mrope_section=[16, 24, 24]),
                    sliding_window=32768, use_sliding_window=False,
                ),
            ),
        ),
    },
    settings={
        "qwen2_vl": Cases(
            "qwen2_vl", rope(mrope_section=[4, 2, 2]), [*theta(500.0, mrope_section=[4, 2, 2]), *ACT, *EPS, *KV, *NOTHING]
        ),
    },
)  # fmt: skip
