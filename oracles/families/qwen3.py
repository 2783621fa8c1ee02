"""Qwen 3."""

import gguf_stored as stored
from family_blocks import Family, Repository, Tiny, config
from family_tokenizers import pooled, qwen2

FAMILY = Family(
    "Qwen3",
    names={
        "qwen3": Tiny(dict(num_hidden_layers=2)),
        # Blocks are 32 long.
        "qwen3-q8": Tiny(dict(tie_word_embeddings=True, hidden_size=32, intermediate_size=32), dtype="float32", type="q8_0"),
    },
    to_gguf={
        "qwen3": Repository(
            dict(head_dim=6, num_hidden_layers=2), pooled(qwen2, pooling_mode_lasttoken=True), "qwen2", types=["f32", "bf16"]
        ),
        "qwen3-fp8": Repository(dict(head_dim=6), qwen2, "qwen2", types=["f32", "bf16"], steps=[stored.fp8_block]),
    },
    configs={
        "qwen3": config(
            "Qwen3ForCausalLM", "qwen3", 4096, 12288, 36, 32, 8, 151936, 40960, head_dim=128, rms_norm_eps=1e-6, rope_theta=1000000
        ),
        "qwen3-bare": dict(architectures=["Qwen3ForCausalLM"], model_type="qwen3"),
    },
    generations={
        "qwen3": dict(temperature=0.6, top_k=20, top_p=0.95, min_p=0.01, penalty_last_n=64, sequence="kt"),
    },
)
