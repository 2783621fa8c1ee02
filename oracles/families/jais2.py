"""Jais 2: biases everywhere, no gates, norms with a mean."""

from family_blocks import Family, Repository, config
from family_tokenizers import plain_bpe
from gguf_vocabularies import LLAMA3, byte_level, split
from settings_rows import HEAD, KV, NOTHING, ROTARY, TIED, Cases, each

SPACES = "|".join(r"\s{%s}(?!\S)" % count for count in "512 256 128 64 32 16 8 4 1,2".split()) + r"|\s{1}"
JAIS = LLAMA3.removesuffix(r"|\s+(?!\S)|\s+") + "|" + SPACES
jais = plain_bpe([split(JAIS), byte_level()], "PreTrainedTokenizerFast", "<|endoftext|>", "<|endoftext|>", "<|pad|>")

FAMILY = Family(
    "Jais2",
    to_gguf={
        "jais2": Repository(dict(num_hidden_layers=2, num_key_value_heads=4), jais, "jais-2", types=["bf16"]),
        "jais2-wide": Repository(dict(head_dim=8, tie_word_embeddings=True), jais, "jais-2", dtype="float32", types=["f32"]),
    },
    configs={
        "jais-2-8b": config(
            "Jais2ForCausalLM", "jais2", 3328, 26624, 32, 26, 26, 150272, 8192,
            attention_bias=True, head_dim=128, hidden_act="relu2", layer_norm_eps=1e-5, mlp_bias=True, rope_scaling=None, rope_theta=500000,
        ),
        "jais-2-linear": config("Jais2ForCausalLM", "jais2", 7168, 28672, 68, 56, 8, 150272, 8192, rope_scaling=dict(type="linear", factor=2.0)),
        "jais-2-bare": dict(architectures=["Jais2ForCausalLM"], model_type="jais2"),
    },
    settings={
        "jais2": Cases(
            "jais2",
            dict(head_dim=16),
            [
                *each("attention_bias", False),
                *each("mlp_bias", False),
                *each("hidden_act", "silu", "gelu"),
                *[*ROTARY, *TIED, *HEAD, *each("layer_norm_eps", 0.1), *KV, *NOTHING],
            ],
        ),
    },
    back="jais2",
)  # fmt: skip
