"""GLM-4 as transformers has it."""

from families.glm4 import glm4
from family_blocks import Family, Repository, config
from settings_rows import KV, TIED, Cases, each, rope

# The converter takes these for granted.
TAKEN = dict(head_dim=4, rms_norm_eps=1e-5)

FAMILY = Family(
    "Glm",
    to_gguf={
        "glm": Repository(dict(TAKEN, num_hidden_layers=2), glm4, "glm4", types=["f32", "bf16"]),
        "glm-tied": Repository(
            dict(TAKEN, attention_bias=False, num_key_value_heads=4, tie_word_embeddings=True), glm4, "glm4", dtype="float16", types=["f16"]
        ),
    },
    settings={
        "glm": Cases(
            "glm", dict(head_dim=16, rms_norm_eps=1e-5, attention_bias=True, **rope(partial_rotary_factor=0.5)),
            [*each("attention_bias", False), *TIED, *KV], steps=[],
        ),
    },
    configs={
        "glm-4-9b-hf": config(
            "GlmForCausalLM", "glm", 4096, 13696, 40, 32, 2, 151552, 131072,
            attention_bias=True, head_dim=128, hidden_act="silu", partial_rotary_factor=0.5, rms_norm_eps=1.5625e-7, rope_theta=10000.0,
        ),
        "glm-bare": dict(architectures=["GlmForCausalLM"], model_type="glm"),
    },
    beyond={
        "glm-4-9b-hf": ["chatglm.attention.layer_norm_rms_epsilon"],
        "glm-bare": ["chatglm.attention.layer_norm_rms_epsilon"],
    },
)  # fmt: skip
