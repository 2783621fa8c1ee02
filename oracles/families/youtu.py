"""Youtu-LLM: DeepSeek's attention without experts."""

import settings_rows as rows
from family_blocks import LATENT, YARN, Family, Repository, config
from family_tokenizers import llama3
from settings_rows import LATENT_ROWS, UNTIED, Cases

SETTINGS = {key: LATENT[key] for key in "num_key_value_heads q_lora_rank kv_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim".split()}
PUBLISHED = dict(kv_lora_rank=512, q_lora_rank=1536, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128, qk_head_dim=192)

FAMILY = Family(
    "Youtu",
    to_gguf={
        "youtu": Repository(dict(SETTINGS, num_hidden_layers=2), llama3, "llama-bpe"),
        # With a head of its own, and queries that are made directly.
        "youtu-untied": Repository(
            dict(SETTINGS, q_lora_rank=None, tie_word_embeddings=False, rope_parameters=YARN),
            llama3, "llama-bpe", dtype="float16", types=["f16"],
        ),
    },
    configs={
        "youtu-2b": config(
            "YoutuForCausalLM", "youtu", 2048, 6144, 32, 16, 16, 128256, 131072, **PUBLISHED,
            attention_bias=False, head_dim=64, hidden_act="silu", mlp_bias=False, rms_norm_eps=1e-6, rope_interleave=True, rope_scaling=None,
            rope_theta=1600000, tie_word_embeddings=True, embedding_initializer_range=0.008,
        ),
        "youtu-bare": dict(architectures=["YoutuForCausalLM"], model_type="youtu"),
    },
    settings={
        "youtu": Cases(
            "youtu",
            {key: rows.LATENT[key] for key in SETTINGS},
            [*UNTIED, *[one for one in LATENT_ROWS if one[0] != "tie_word_embeddings"]],
        ),
    },
    back="youtu",
)  # fmt: skip
