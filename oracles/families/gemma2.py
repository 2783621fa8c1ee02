"""Gemma 2."""

from family_blocks import Family, Repository, Tiny, config
from family_tokenizers import google

FAMILY = Family(
    "Gemma2",
    names={
        "gemma2": Tiny(dict(num_hidden_layers=2, sliding_window=16), dtype="float16", type="f16"),
    },
    to_gguf={
        "gemma2": Repository(dict(head_dim=4, num_hidden_layers=2, sliding_window=16), google, None, dtype="float16", types=["f32", "f16"]),
    },
    configs={
        "gemma-2": config(
            "Gemma2ForCausalLM", "gemma2", 3584, 14336, 42, 16, 8, 256000, 8192,
            attn_logit_softcapping=50.0, final_logit_softcapping=30.0, head_dim=256, sliding_window=4096, rope_theta=10000.0,
        ),
        "gemma2-bare": dict(architectures=["Gemma2ForCausalLM"], model_type="gemma2"),
    },
    generations={
        "gemma-2": dict(temperature=1, penalty_repeat=1.1, repetition_penalty=1.2, mirostat=2, mirostat_tau=5.0, mirostat_eta=0.1),
    },
)
