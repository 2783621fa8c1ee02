"""Jamba."""

from family_blocks import ABSENT, Family, Repository, config, edited, settled
from family_tokenizers import meta, meta_json
from settings_rows import KV, TIED, Cases

SIZES = dict(
    attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=0, num_hidden_layers=3, num_experts=3, mamba_d_state=4,
    mamba_dt_rank=3,
)  # fmt: skip

FAMILY = Family(
    "Jamba",
    to_gguf={
        "jamba": Repository(SIZES, meta, None, steps=[edited(settled)]),
        "jamba-json": Repository(
            dict(SIZES, num_hidden_layers=2, expert_layer_offset=1, mamba_dt_rank="auto", num_key_value_heads=1, tie_word_embeddings=True), meta_json,
            None, dtype="float32", types=["f32"], steps=[edited(settled)], spare=0,
        ),
    },
    settings={
        "jamba": Cases("jamba", dict(SIZES, num_hidden_layers=4, vocab_size=291, rope_parameters=ABSENT), [*TIED, *KV], steps=[edited(settled)]),
    },
    configs={
        "jamba-v0.1": config(
            "JambaForCausalLM", "jamba", 4096, 14336, 32, 32, 8, 65536, 262144, attention_dropout=0.0, attn_layer_offset=4, attn_layer_period=8,
            bos_token_id=1, calc_logits_for_entire_prompt=False, eos_token_id=2, expert_layer_offset=1, expert_layer_period=2, hidden_act="silu",
            initializer_range=0.02, mamba_conv_bias=True, mamba_d_conv=4, mamba_d_state=16, mamba_dt_rank=256, mamba_expand=2,
            mamba_inner_layernorms=True, mamba_proj_bias=False, n_ctx=262144, num_experts=16, num_experts_per_tok=2, num_logits_to_keep=1,
            output_router_logits=False, pad_token_id=0, rms_norm_eps=1e-6, router_aux_loss_coef=0.001, sliding_window=None,
            tie_word_embeddings=False, use_mamba_kernels=True,
        ),
        "jamba-bare": dict(architectures=["JambaForCausalLM"], model_type="jamba"),
    },
)  # fmt: skip
