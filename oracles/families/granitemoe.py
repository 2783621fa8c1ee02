"""Granite with experts, and with one more that sees every token."""

from families.granite import granite
from family_blocks import Family, Repository, config
from settings_rows import KV, TIED, Cases, theta

SCALES = dict(embedding_multiplier=12.0, logits_scaling=6.0, residual_multiplier=0.22, attention_multiplier=0.015625)
SIZES = dict(SCALES, num_local_experts=3, num_experts_per_tok=2)
PUBLISHED = dict(
    attention_bias=False, attention_dropout=0.1, hidden_act="silu", initializer_range=0.02, rms_norm_eps=1e-6, rope_scaling=None,
    rope_theta=10000.0, router_aux_loss_coef=0.0, tie_word_embeddings=True, num_experts_per_tok=8,
)  # fmt: skip

FAMILY = Family(
    "GraniteMoe",
    to_gguf={
        "granitemoe": Repository(dict(SIZES, num_hidden_layers=2), granite, "refact"),
        "granitemoe-shared": Repository(
            dict(SIZES, shared_intermediate_size=12, tie_word_embeddings=True, num_key_value_heads=4), granite, "refact",
            dtype="float32", types=["f32"], model="GraniteMoeShared",
        ),
    },
    settings={
        "granitemoe": Cases("granitemoe", dict(SIZES, num_local_experts=6, intermediate_size=32), [*theta(500.0), *TIED, *KV], steps=[]),
    },
    configs={
        "granite-3.1-3b-a800m": config(
            "GraniteMoeForCausalLM", "granitemoe", 1536, 512, 32, 24, 8, 49155, 131072, **PUBLISHED, num_local_experts=40,
            attention_multiplier=0.015625, embedding_multiplier=12.0, logits_scaling=6.0, residual_multiplier=0.22,
        ),
        "granitemoe-shared": config(
            "GraniteMoeSharedForCausalLM", "granitemoeshared", 1536, 512, 40, 12, 4, 49160, 131072, **PUBLISHED, num_local_experts=62,
            attention_multiplier=0.0078125, embedding_multiplier=12.0, logits_scaling=6.0, residual_multiplier=0.22, shared_intermediate_size=1024,
        ),
        "granitemoe-bare": dict(architectures=["GraniteMoeForCausalLM"], model_type="granitemoe"),
    },
    back="granitemoe",
)  # fmt: skip
