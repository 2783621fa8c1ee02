"""Arcee's AFM: Llama without gates."""

from family_blocks import LLAMA3, SCALED_LLAMA3, Family, Repository, Tiny, config
from family_tokenizers import llama3, meta

FAMILY = Family(
    "Arcee",
    names={
        "arcee": Tiny(dict(num_hidden_layers=2), type="f16"),
    },
    to_gguf={
        "arcee": Repository({}, llama3, "llama-bpe", types=["f32", "bf16"]),
        # Wider heads than the hidden size has room for, and factors of rotary frequencies.
        "arcee-llama3": Repository(
            dict(num_hidden_layers=2, head_dim=8, max_position_embeddings=16384, tie_word_embeddings=True, rope_parameters=LLAMA3),
            meta, None, dtype="float16", types=["f16"],
        ),
    },
    configs={
        "afm-4.5b": config(
            "ArceeForCausalLM", "arcee", 2560, 18432, 36, 20, 4, 128004, 65536,
            attention_bias=False, head_dim=128, hidden_act="relu2", mlp_bias=False, rms_norm_eps=1e-5, rope_theta=10000.0,
            rope_scaling=dict(
                rope_type="yarn", factor=20.0, original_max_position_embeddings=4096, beta_fast=32.0, beta_slow=1.0, mscale=1.0,
            ),
        ),
        "arcee-llama3": config(
            "ArceeForCausalLM", "arcee", 2560, 18432, 36, 20, 4, 128004, 131072,
            head_dim=96, rope_theta=500000.0, rope_scaling=dict(SCALED_LLAMA3, rope_type="llama3"), tie_word_embeddings=True,
        ),
        "arcee-bare": dict(architectures=["ArceeForCausalLM"], model_type="arcee"),
    },
)  # fmt: skip
