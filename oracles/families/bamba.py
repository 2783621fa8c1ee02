"""Bamba."""

from family_blocks import Family, Repository, config, edited, say, settled
from family_tokenizers import llama3
from settings_rows import Cases

SIZES = dict(mamba_n_heads=4, mamba_d_state=4, mamba_d_head=8, num_hidden_layers=3, attn_layer_indices=[1])

FAMILY = Family(
    "Bamba",
    to_gguf={
        "bamba": Repository(SIZES, llama3, "llama-bpe", steps=[edited(settled), say(attn_rotary_emb=4)], spare=4),
        "bamba-tied": Repository(
            dict(SIZES, num_hidden_layers=2, attn_layer_indices=[0], tie_word_embeddings=True, mamba_n_groups=2, num_key_value_heads=4), llama3,
            "llama-bpe", steps=[edited(settled)], dtype="float32", types=["f32"], spare=4,
        ),
    },
    settings={
        "bamba": Cases(
            "bamba", dict(SIZES, mamba_n_heads=8, mamba_d_head=16, num_hidden_layers=4, vocab_size=296), [], steps=[edited(settled)]
        ),
    },
    configs={
        "bamba-9b": config(
            "BambaForCausalLM", "bamba", 4096, 14336, 32, 32, 8, 128256, 262144, attention_bias=False, attention_dropout=0.0,
            attn_layer_indices=[9, 18, 27], attn_rotary_emb=64, hidden_act="silu", initializer_range=0.02, mamba_chunk_size=256,
            mamba_conv_bias=True, mamba_d_conv=4, mamba_d_head=64, mamba_d_state=128, mamba_expand=2, mamba_n_groups=1, mamba_n_heads=128,
            mamba_proj_bias=False, mlp_bias=False, num_logits_to_keep=1, rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=False,
            use_mamba_kernels=True,
        ),
    },
    warned={"bamba-9b": ["attn_rotary_emb"]},
)  # fmt: skip
