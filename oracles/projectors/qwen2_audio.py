"""Qwen 2 Audio: Whisper's encoder, and one matrix."""

import transformers
from family_tokenizers import qwen2
from projector_blocks import TEXT, Golden

AUDIO = dict(d_model=8, encoder_ffn_dim=16, encoder_layers=3, encoder_attention_heads=2, num_mel_bins=8, max_source_positions=12)


def model(audio):
    def make(settings):
        config = transformers.Qwen2AudioConfig(text_config=dict(TEXT, model_type="qwen2", **settings), audio_config=audio)
        return transformers.Qwen2AudioForConditionalGeneration(config)

    return make


GOLDENS = {
    "qwen2_audio": Golden(model(AUDIO), qwen2),
    "qwen2_audio-bf16": Golden(model(dict(AUDIO, encoder_layers=4, num_mel_bins=6)), qwen2, dtype="float32", types=["bf16"]),
}
