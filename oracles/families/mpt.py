"""MPT."""

from family_blocks import ABSENT, Family, Repository, change
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level
from settings_rows import Cases, row

mpt = plain_bpe([byte_level(use_regex=True)], "GPTNeoXTokenizer", "<|endoftext|>", "<|endoftext|>", "<|padding|>", normalizer=dict(type="NFC"))
SIZES = dict(intermediate_size=ABSENT, num_key_value_heads=ABSENT, max_position_embeddings=ABSENT, head_dim=ABSENT, max_seq_len=64)
ATTENTION = dict(
    alibi=True, alibi_bias_max=8, attn_impl="torch", attn_pdrop=0, attn_type="multihead_attention", attn_uses_sequence_id=False, clip_qkv=None,
    prefix_lm=False, qk_ln=False, softmax_scale=None,
)  # fmt: skip


def as_published(folder):
    """The class of the published code, whose spelling is another one."""
    change(folder, lambda said: dict(said, architectures=["MPTForCausalLM"]))


def published(width, layers, heads, **more):
    return dict(
        architectures=["MPTForCausalLM"], model_type="mpt", d_model=width, emb_pdrop=0, embedding_fraction=1.0, expansion_ratio=4,
        init_config=dict(name="kaiming_normal_", fan_mode="fan_in"), init_device="cpu", learned_pos_emb=True, logit_scale=None, max_seq_len=2048,
        n_heads=heads, n_layers=layers, no_bias=True, norm_type="low_precision_layernorm", resid_pdrop=0, use_cache=False, verbose=0,
        vocab_size=50432, **more,
    )  # fmt: skip


FAMILY = Family(
    "Mpt",
    to_gguf={
        "mpt": Repository(dict(SIZES, num_hidden_layers=2), mpt, "olmo", types=["f32", "bf16"], steps=[as_published]),
        "mpt-clipped": Repository(
            dict(SIZES, attn_config=dict(clip_qkv=6.0, alibi_bias_max=16)), mpt, "olmo", dtype="float16", types=["f16"], steps=[as_published]
        ),
    },
    settings={
        "mpt": Cases(
            "mpt", dict(SIZES, rope_parameters=ABSENT),
            [row("attn_config", "clip_qkv 0.5", attn_config=dict(clip_qkv=0.5)), row("attn_config", "alibi_bias_max 16", attn_config=dict(alibi_bias_max=16))],
        ),
    },
    configs={
        "mpt-7b": published(4096, 32, 32, attn_config=ATTENTION),
        "mpt-30b": published(7168, 48, 64, attn_config=dict(ATTENTION, attn_impl="triton", clip_qkv=None)),
        "mpt-storywriter": published(4096, 32, 32, attn_config=dict(ATTENTION, alibi_bias_max=16, clip_qkv=6)),
        "mpt-silent": published(2048, 24, 16),
    },
)  # fmt: skip
