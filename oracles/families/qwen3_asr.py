"""The language model of Qwen 3 ASR."""

import json
import os

from families.qwen3_vl import SECTIONS
from family_blocks import Family, Repository
from family_tokenizers import qwen2
from gguf_vocabularies import write_json

import transformers

SOUND = dict(d_model=8, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=8, num_mel_bins=8, n_window=4, output_dim=16)
SOUND = dict(SOUND, downsample_hidden_size=8)


def listed(folder):
    """The same tokens, which tokenizer_config.json lists too."""
    ids = qwen2(folder)
    added = json.load(open(os.path.join(folder, "tokenizer.json"), encoding="utf-8"))["added_tokens"]
    path = os.path.join(folder, "tokenizer_config.json")
    said = json.load(open(path, encoding="utf-8"))
    said["added_tokens_decoder"] = {str(token["id"]): {key: value for key, value in token.items() if key != "id"} for token in added}
    write_json(folder, "tokenizer_config.json", said, indent=2)
    return ids


def asr(text):
    whole = transformers.Qwen3ASRConfig(text_config=dict(text, model_type="qwen3"), audio_config=SOUND)
    return transformers.Qwen3ASRForConditionalGeneration(whole)


FAMILY = Family(
    None,
    to_gguf={
        "qwen3_asr": Repository(dict(head_dim=8, rope_parameters=SECTIONS), listed, "qwen2", model=asr),
    },
)  # fmt: skip
