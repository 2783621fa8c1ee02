"""OLMo 3."""

from family_blocks import SCALED_YARN, Family, Repository, Tiny, config
from family_tokenizers import olmo2

FAMILY = Family(
    "Olmo3",
    names={
        "olmo3": Tiny(dict(sliding_window=16), type="f16"),
    },
    to_gguf={
        "olmo3": Repository(dict(sliding_window=16, num_hidden_layers=4, intermediate_size=8), olmo2, "dbrx"),
    },
    configs={
        "olmo-3": config(
            "Olmo3ForCausalLM", "olmo3", 4096, 11008, 32, 32, 32, 100278, 65536,
            rms_norm_eps=1e-6,
            rope_scaling=dict(SCALED_YARN, factor=8.0, original_max_position_embeddings=8192, attention_factor=1.2079441541679836, beta_fast=32, beta_slow=1),
            rope_theta=500000,
            sliding_window=4096,
            layer_types=(["sliding_attention"] * 3 + ["full_attention"]) * 8,
        ),
        "olmo-3-short": config(
            "Olmo3ForCausalLM", "olmo3", 4096, 11008, 6, 32, 32, 100278, 65536, rope_scaling=dict(type="yarn", factor=8.0), rope_theta=20000
        ),
        "olmo3-bare": dict(architectures=["Olmo3ForCausalLM"], model_type="olmo3"),
    },
    warned={"olmo-3-short": ["sliding_attention.rope_theta"]},
)
