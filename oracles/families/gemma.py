"""Gemma, the first generation."""

from family_blocks import Family, Repository, Tiny, config
from family_tokenizers import google

FAMILY = Family(
    "Gemma",
    names={
        "gemma": Tiny({}, type="f16"),
    },
    to_gguf={
        "gemma": Repository(dict(head_dim=4), google, None, types=["f16", "bf16"]),
    },
    configs={
        "gemma": config("GemmaForCausalLM", "gemma", 2048, 16384, 18, 8, 1, 256000, 8192, head_dim=256, rope_theta=10000.0),
        "gemma-bare": dict(architectures=["GemmaForCausalLM"], model_type="gemma"),
    },
)
