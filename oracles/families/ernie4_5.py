"""ERNIE 4.5."""

import torch
from family_blocks import Family, Repository, config, edited, say
from family_tokenizers import META, decoder, settings
import gguf_vocabularies as vocabularies
from settings_rows import ACT, EPS, HEAD, KV, NOTHING, ROTARY, TIED, Cases, each


def ernie(prefix):
    """Pieces, with or without a word on spaces before a text."""

    def write(folder):
        found = vocabularies.pieces(META, vocabularies.WORDS[:6])
        vocabularies.sentencepiece_model(folder, found)
        more = decoder((0, "<unk>"), (1, "<s>"), (2, "</s>"), (len(found), "<|im_end|>", False))
        said = settings("Ernie4_5_Tokenizer", bos_token="<s>", eos_token="</s>", unk_token="<unk>", added_tokens_decoder=more)
        vocabularies.write_json(folder, "tokenizer_config.json", said if prefix is None else dict(said, add_prefix_space=prefix), indent=2)
        return dict(bos_token_id=1, eos_token_id=2, pad_token_id=0)

    return write


def as_paddle(tensors, generator):
    """Fused as the checkpoints of Paddle have it, and with their names."""
    for name in [name for name in tensors if name.endswith((".gate_proj.weight", ".q_proj.weight"))]:
        if "q_proj" in name:
            parts, fused = [name.replace("q_proj", part) for part in ("q_proj", "k_proj", "v_proj")], name.replace("q_proj", "qkv_proj")
        else:
            parts, fused = [name, name.replace("gate_proj", "up_proj")], name.replace("gate_proj", "up_gate_proj")
        tensors[fused] = torch.cat([tensors.pop(part) for part in parts])
    for name in [name for name in tensors if name.startswith("model.")]:
        tensors[name.replace("model.", "ernie.", 1)] = tensors.pop(name)


FAMILY = Family(
    "Ernie4_5",
    to_gguf={
        "ernie4_5": Repository(dict(head_dim=8, num_hidden_layers=2), ernie(False), None, types=["bf16"]),
        "ernie4_5-untied": Repository(
            dict(head_dim=4, tie_word_embeddings=False), ernie(None), None, dtype="float32", types=["f32"]
        ),
        "ernie4_5-fused": Repository(
            dict(head_dim=8, tie_word_embeddings=True), ernie(True), None, dtype="float16", types=["f16"], steps=[edited(as_paddle), say(architectures=["Ernie4_5_ForCausalLM"])]
        ),
    },
    configs={
        "ernie-4.5-0.3b": config(
            "Ernie4_5ForCausalLM", "ernie4_5", 1024, 3072, 18, 16, 2, 103424, 131072,
            head_dim=128, hidden_act="silu", rms_norm_eps=1e-5, rope_scaling=None, rope_theta=500000.0, tie_word_embeddings=True, use_bias=False,
        ),
        "ernie4-5-null": config("Ernie4_5_ForCausalLM", "ernie4_5", 512, 1024, 4, 8, None, 1000, 4096, head_dim=None),
        "ernie4-5-bare": dict(architectures=["Ernie4_5ForCausalLM"], model_type="ernie4_5"),
    },
    settings={
        "ernie4_5": Cases(
            "ernie4_5", dict(head_dim=16), [*each("use_bias", True), *ROTARY, *TIED, *HEAD, *ACT, *EPS, *KV, *NOTHING], steps=[],
        ),
    },
    back="ernie4_5",
)  # fmt: skip
