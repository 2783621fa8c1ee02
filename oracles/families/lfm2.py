"""LFM2, with short convolutions."""

from family_blocks import Family, Repository, config, say
from family_tokenizers import plain_bpe
from gguf_vocabularies import LLAMA3, byte_level, split
from settings_rows import KV, Cases, each, theta

lfm2 = plain_bpe([split(LLAMA3), byte_level()], "PreTrainedTokenizerFast", "<|startoftext|>", "<|im_end|>", "<|pad|>", bos="<|startoftext|>", ignore_merges=True)
CONV, FULL = "conv", "full_attention"
PUBLISHED = dict(
    block_auto_adjust_ff_dim=True, block_dim=2048, block_ff_dim=12288, block_ffn_dim_multiplier=1.0, block_mlp_init_scale=1.0,
    block_multiple_of=256, block_norm_eps=1e-5, block_out_init_scale=1.0, block_use_swiglu=True, block_use_xavier_init=True, bos_token_id=1,
    conv_L_cache=3, conv_bias=False, conv_dim=2048, conv_dim_out=2048, conv_use_xavier_init=True, eos_token_id=7, initializer_range=0.02,
    norm_eps=1e-5, num_heads=32, pad_token_id=0, rope_theta=1000000.0, use_pos_enc=True,
)  # fmt: skip

FAMILY = Family(
    "Lfm2",
    to_gguf={
        "lfm2": Repository(
            dict(layer_types=[CONV, CONV, FULL], num_hidden_layers=3, block_multiple_of=8), lfm2, "lfm2", types=["f32", "bf16"],
        ),
        "lfm2-wide": Repository(
            dict(layer_types=[FULL, CONV], num_hidden_layers=2, block_auto_adjust_ff_dim=False, conv_L_cache=4, tie_word_embeddings=False), lfm2,
            "lfm2", dtype="float16", types=["f16"], steps=[say(block_ff_dim=24)],
        ),
    },
    settings={
        "lfm2": Cases(
            "lfm2", dict(layer_types=[CONV, CONV, FULL, CONV], block_multiple_of=8), [*theta(500.0), *each("conv_L_cache", 4), *KV], steps=[]
        ),
    },
    configs={
        "lfm2-1.2b": config("Lfm2ForCausalLM", "lfm2", 2048, 12288, 16, 32, 8, 65536, 128000, **PUBLISHED, full_attn_idxs=[2, 5, 8, 10, 12, 14]),
        "lfm2-350m": config(
            "Lfm2ForCausalLM", "lfm2", 1024, 6656, 3, 16, 8, 65536, 128000, **dict(PUBLISHED, block_ff_dim=6656), layer_types=[CONV, FULL, CONV]
        ),
        "lfm2-bare": dict(architectures=["Lfm2ForCausalLM"], model_type="lfm2"),
    },
    back="lfm2",
)  # fmt: skip
