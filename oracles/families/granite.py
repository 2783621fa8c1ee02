"""Granite."""

from family_blocks import Family, Repository, Tiny, config
from family_tokenizers import plain_bpe
from gguf_vocabularies import digits

granite = plain_bpe(digits(), "GPT2Tokenizer", "<|end_of_text|>", "<|end_of_text|>", "<fim_prefix>", spelled=True)
FAMILY = Family(
    "Granite",
    names={
        "granite": Tiny(dict(attention_bias=True), type="f16"),
    },
    to_gguf={
        "granite": Repository(
            dict(embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22, attention_multiplier=0.015625),
            granite,
            "refact",
        ),
    },
    configs={
        "granite": config(
            "GraniteForCausalLM", "granite", 2048, 8192, 40, 32, 8, 49152, 131072,
            attention_multiplier=0.015625, embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22, rope_theta=10000000.0,
        ),
        "granite-head": config("GraniteForCausalLM", "granite", 2048, 8192, 40, 32, 8, 49152, 131072, head_dim=96),
        "granite-bare": dict(architectures=["GraniteForCausalLM"], model_type="granite"),
    },
)
