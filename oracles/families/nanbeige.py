"""Nanbeige 4.2: Llama whose layers run several times, of which transformers has no class."""

from family_blocks import LLAMA3, SCALED_LLAMA3, Family, Repository, as_old, config, say
from family_tokenizers import llama3, meta

NAMED = dict(architectures=["NanbeigeForCausalLM"], model_type="nanbeige")
SCALING = dict(SCALED_LLAMA3, rope_type="llama3")

FAMILY = Family(
    "Llama",
    to_gguf={
        "nanbeige": Repository(
            dict(num_hidden_layers=2, head_dim=8), llama3, "llama-bpe", types=["bf16"],
            steps=[as_old, say(**NAMED, num_loops=2, skip_loop_final_norm=True)],
        ),
        "nanbeige-once": Repository(
            dict(head_dim=4, tie_word_embeddings=True, rope_parameters=LLAMA3), meta, None, dtype="float32", types=["f32"],
            steps=[as_old, say(**NAMED, rope_scaling=SCALING)],
        ),
    },
    configs={
        "nanbeige-4.2-3b": config(
            "NanbeigeForCausalLM", "nanbeige", 2560, 10496, 32, 20, 4, 166144, 262144,
            attention_bias=False, head_dim=128, hidden_act="silu", num_loops=2, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=70000000,
            skip_loop_final_norm=False, tie_word_embeddings=False,
        ),
        "nanbeige-null": config("NanbeigeForCausalLM", "nanbeige", 512, 1024, 4, 8, 2, 1000, 4096, num_loops=None, rms_norm_eps=1e-6),
    },
    skipped={"nanbeige": "transformers has no such class"},
)  # fmt: skip
