"""Granite with sliding windows and experts."""

from families.granitehybrid import cl100k
from families.granitemoe import SIZES
from family_blocks import Family, Repository, config

FAMILY = Family(
    "GraniteMoeSWA",
    to_gguf={
        "granitemoe_swa": Repository(dict(SIZES, num_hidden_layers=2, shared_intermediate_size=12), cl100k, "dbrx"),
        "granitemoe_swa-bare": Repository(dict(SIZES, sliding_window=8, tie_word_embeddings=True), cl100k, "dbrx", dtype="float32", types=["f32"]),
    },
    configs={
        "granitemoe-swa": config(
            "GraniteMoeSWAForCausalLM", "granitemoe_swa", 1536, 512, 4, 24, 8, 100352, 131072, **SIZES, rope_theta=10000.0, shared_intermediate_size=64,
            sliding_window=128,
        ),
        "granitemoe-swa-bare": dict(architectures=["GraniteMoeSWAForCausalLM"], model_type="granitemoe_swa"),
    },
)  # fmt: skip
