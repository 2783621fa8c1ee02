"""Falcon-H1."""

from family_blocks import Family, Repository, config, edited, settled
from family_tokenizers import plain_bpe
from gguf_vocabularies import LLAMA3, byte_level, split

falcon_h1 = plain_bpe([split(LLAMA3), byte_level()], "PreTrainedTokenizerFast", "<|begin_of_text|>", "<|end_of_text|>", "<|pad|>", ignore_merges=True)
SIZES = dict(
    head_dim=8, mamba_d_ssm=32, mamba_n_heads=4, mamba_d_head=8, mamba_d_state=4, mamba_n_groups=2, embedding_multiplier=5.656854249492381,
    lm_head_multiplier=0.0390625, attention_out_multiplier=0.9375, attention_in_multiplier=1.0, key_multiplier=0.390625,
    mlp_multipliers=[0.8838834764831844, 0.5859375], ssm_in_multiplier=1.0, ssm_out_multiplier=0.23570226039551587,
    ssm_multipliers=[0.3535533905932738, 0.25, 0.3535533905932738, 0.5, 0.3535533905932738],
)  # fmt: skip

FAMILY = Family(
    "FalconH1",
    to_gguf={
        "falcon_h1": Repository(dict(SIZES, num_hidden_layers=2), falcon_h1, "falcon-h1", types=["f32"], steps=[edited(settled)]),
        "falcon_h1-norm": Repository(
            dict(SIZES, mamba_rms_norm=True, mamba_norm_before_gate=False, mamba_n_groups=1, attention_in_multiplier=0.75, key_multiplier=0.5,
                ssm_in_multiplier=0.5, tie_word_embeddings=True, num_key_value_heads=4),
            falcon_h1, "falcon-h1", dtype="float32", types=["f32", "bf16"], steps=[edited(settled)],
        ),
    },
    configs={
        "falcon-h1-tiny": config(
            "FalconH1ForCausalLM", "falcon_h1", 512, 1024, 24, 8, 2, 32768, 4096, **dict(SIZES, mamba_d_ssm=768, mamba_n_heads=24, mamba_d_head=32, mamba_d_state=64, mamba_n_groups=1, head_dim=64),
            attention_bias=False, hidden_act="silu", mamba_chunk_size=128, mamba_conv_bias=True, mamba_d_conv=4, mamba_expand=2,
            mamba_norm_before_gate=False, mamba_proj_bias=False, mamba_rms_norm=False, mamba_use_mlp=True, mlp_bias=False, projectors_bias=False,
            rms_norm_eps=1e-5, rope_theta=100000000000.0, tie_word_embeddings=True,
        ),
    },
)  # fmt: skip
