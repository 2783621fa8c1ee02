"""Maincoder: Qwen 3 of which transformers has no class."""

from family_blocks import Family, Repository, as_old, config, say
from family_tokenizers import qwen2

NAMED = say(architectures=["MaincoderForCausalLM"], model_type="maincoder", layer_types=None)

FAMILY = Family(
    "Qwen3",
    to_gguf={
        "maincoder": Repository(dict(num_hidden_layers=2, head_dim=8), qwen2, "qwen2", types=["bf16"], steps=[as_old, NAMED]),
        "maincoder-tied": Repository(
            dict(head_dim=4, tie_word_embeddings=True, num_key_value_heads=1), qwen2, "qwen2", dtype="float32", types=["f32"], steps=[as_old, NAMED]
        ),
    },
    configs={
        "maincoder-1b": config(
            "MaincoderForCausalLM", "maincoder", 1536, 4096, 32, 16, 4, 151936, 2048,
            attention_dropout=0.0, head_dim=96, hidden_act="silu", rms_norm_eps=1e-5, rope_scaling=None, rope_theta=1000000.0, use_qk_norm=True,
            tie_word_embeddings=True,
        ),
        "maincoder-share": config("MaincoderForCausalLM", "maincoder", 512, 1024, 4, 8, 2, 1000, 4096, rms_norm_eps=1e-6),
    },
    skipped={"maincoder": "transformers has no such class"},
)  # fmt: skip
