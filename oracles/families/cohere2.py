"""Command R7B and its kin."""

from family_blocks import Family, Repository, Tiny, config
from family_tokenizers import cohere

SETTINGS = dict(sliding_window=16, rotary_pct=1.0)
FAMILY = Family(
    "Cohere2",
    names={
        "cohere2": Tiny(SETTINGS),
    },
    to_gguf={
        "cohere2": Repository(SETTINGS, cohere, "command-r"),
    },
    configs={
        "command-r7b": config(
            "Cohere2ForCausalLM", "cohere2", 4096, 14336, 32, 32, 8, 256000, 8192,
            head_dim=128, logit_scale=0.25, rope_theta=50000, rotary_pct=1.0, sliding_window=4096, sliding_window_pattern=4,
        ),
    },
)
