"""Mistral."""

from family_blocks import Family, Repository, Tiny, as_old, config
from family_tokenizers import meta

FAMILY = Family(
    "Mistral",
    names={
        "mistral": Tiny(dict(head_dim=10)),
    },
    to_gguf={
        "mistral": Repository(dict(head_dim=6, sliding_window=None), meta, None, types=["auto"], steps=[as_old]),
    },
    configs={
        "mistral": config(
            "MistralForCausalLM", "mistral", 4096, 14336, 32, 32, 8, 32768, 32768,
            head_dim=None, rms_norm_eps=1e-5, rope_theta=1000000.0, sliding_window=None,
        ),
        "mistral-bare": dict(architectures=["MistralForCausalLM"], model_type="mistral"),
        "mistral-nemo": config(
            "MistralForCausalLM", "mistral", 5120, 14336, 40, 32, 8, 131072, 1024000, head_dim=128, rms_norm_eps=1e-5, rope_theta=1000000
        ),
    },
)
