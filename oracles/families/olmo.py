"""OLMo, the first."""

from family_blocks import Family, Repository, config
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level
from settings_rows import ACT, HEAD, KV, NOTHING, TIED, Cases, each, theta

olmo = plain_bpe([byte_level(use_regex=True)], "GPTNeoXTokenizer", "<|endoftext|>", "<|endoftext|>", "<|padding|>", normalizer=dict(type="NFC"))

FAMILY = Family(
    "Olmo",
    to_gguf={
        "olmo": Repository(dict(num_hidden_layers=2, num_key_value_heads=4), olmo, "olmo", types=["f32", "bf16"]),
        "olmo-clipped": Repository(dict(clip_qkv=8.0, tie_word_embeddings=True), olmo, "olmo", dtype="float16", types=["f16"]),
    },
    configs={
        "olmo-1.7-7b": config(
            "OlmoForCausalLM", "olmo", 4096, 11008, 32, 32, 32, 50304, 4096,
            attention_bias=False, attention_dropout=0.0, clip_qkv=None, hidden_act="silu", pretraining_tp=1, rope_scaling=None,
            rope_theta=10000.0, tie_word_embeddings=False,
        ),
        "olmo-7b-2024": config("OlmoForCausalLM", "olmo", 4096, 11008, 32, 32, None, 50304, 2048, clip_qkv=8.0, rope_theta=500000.0),
        "olmo-old": config("OLMoForCausalLM", "olmo", 2048, 8192, 16, 16, 4, 50304, 2048, rope_scaling=dict(type="linear", factor=2.0)),
        "olmo-bare": dict(architectures=["OlmoForCausalLM"], model_type="olmo"),
    },
    settings={
        "olmo": Cases("olmo", {}, [*each("clip_qkv", 0.5), *each("attention_bias", True), *theta(50000.0), *TIED, *HEAD, *ACT, *KV, *NOTHING]),
    },
    back="olmo",
)  # fmt: skip
