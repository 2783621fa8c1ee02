"""MiniCPM 3."""

import settings_rows as rows
from family_blocks import Family, Repository, config
from family_tokenizers import meta
from settings_rows import ACT, BIAS, EPS, MLP_BIAS, NOTHING, UNTIED, Cases, each, scalings, theta

SIZES = dict(num_key_value_heads=4, q_lora_rank=12, kv_lora_rank=10, qk_nope_head_dim=6, qk_rope_head_dim=4)
LONG = dict(rope_type="longrope", rope_theta=10000.0, long_factor=[1.0, 1.7], short_factor=[1.0, 1.05], original_max_position_embeddings=64)
FACTORS = [1.0 + 0.3 * i for i in range(16)]

FAMILY = Family(
    "MiniCPM3",
    to_gguf={
        "minicpm3": Repository(dict(SIZES, num_hidden_layers=2), meta, None),
        "minicpm3-long": Repository(dict(SIZES, tie_word_embeddings=False, rope_parameters=LONG), meta, None, dtype="float16", types=["f32"]),
    },
    configs={
        "minicpm3-4b": config(
            "MiniCPM3ForCausalLM", "minicpm3", 2560, 6400, 62, 40, 40, 73448, 32768,
            attention_bias=False, dim_model_base=256, hidden_act="silu", kv_lora_rank=256, q_lora_rank=768, qk_nope_head_dim=64,
            qk_rope_head_dim=32, rms_norm_eps=1e-5, scale_depth=1.4, scale_emb=12,
            rope_scaling=dict(type="longrope", long_factor=FACTORS, short_factor=FACTORS, original_max_position_embeddings=32768),
        ),
        "minicpm3-base": config(
            "MiniCPM3ForCausalLM", "minicpm3", 2560, 6400, 62, 40, 40, 73448, 32768, rope_theta=500000.0, scale_emb=10, q_lora_rank=None,
        ),
        "minicpm3-bare": dict(architectures=["MiniCPM3ForCausalLM"], model_type="minicpm3"),
    },
    warned={
        "minicpm3-4b": ["rms_norm_eps"],
        "minicpm3-base": ["q_lora_rank", "scale_emb", "rms_norm_eps"],
        "minicpm3-bare": ["rms_norm_eps"],
    },
    beyond={"minicpm3-base": ["minicpm3.rope.freq_base"]},
    settings={
        "minicpm3": Cases(
            "minicpm3",
            dict({key: rows.LATENT[key] for key in SIZES}, tie_word_embeddings=True, rms_norm_eps=1e-6),
            [
                *each("scale_emb", 10),
                *each("scale_depth", 1.0),
                *each("dim_model_base", 128),
                *each("v_head_dim", 24),
                *each("qk_rope_head_dim", 16),
                *each("q_lora_rank", None),
                *[*theta(500.0), *BIAS, *MLP_BIAS, *UNTIED, *ACT, *EPS, *NOTHING],
                *scalings(half=4),
            ],
        ),
    },
)  # fmt: skip
