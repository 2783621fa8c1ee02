"""BLOOM."""

from family_blocks import ABSENT, Family, Repository, edited, say
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level, split
from settings_rows import NOTHING, UNTIED, Cases, each

bloom = plain_bpe([split(" ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"), byte_level()], "BloomTokenizerFast", "<s>", "</s>", "<unk>", "<pad>")
SIZES = dict(intermediate_size=ABSENT, num_key_value_heads=ABSENT, max_position_embeddings=ABSENT, head_dim=ABSENT)


def bare(tensors, generator):
    """Names as the published ones have them."""
    for name in list(tensors):
        tensors[name.removeprefix("transformer.")] = tensors.pop(name)


def published(width, layers, heads, **more):
    return dict(
        architectures=["BloomForCausalLM"], model_type="bloom", apply_residual_connection_post_layernorm=False, attention_dropout=0.0,
        attention_softmax_in_fp32=True, bias_dropout_fusion=True, bos_token_id=1, eos_token_id=2, hidden_dropout=0.0, initializer_range=0.02,
        layer_norm_epsilon=1e-5, masked_softmax_fusion=True, n_embed=width, n_inner=None, n_layer=layers, num_attention_heads=heads,
        offset_alibi=100, pad_token_id=3, pretraining_tp=2, skip_bias_add=True, skip_bias_add_qkv=False, slow_but_exact=False, unk_token_id=0,
        use_cache=True, vocab_size=250880, **more,
    )  # fmt: skip


FAMILY = Family(
    "Bloom",
    to_gguf={
        "bloom": Repository(dict(SIZES, num_hidden_layers=2), bloom, "bloom", types=["f32", "bf16"]),
        "bloom-published": Repository(
            dict(SIZES, num_attention_heads=2), bloom, "bloom", dtype="float16", types=["f16"],
            steps=[edited(bare), say(architectures=["BloomModel"], seq_length=2048)],
        ),
    },
    settings={
        "bloom": Cases(
            "bloom",
            dict(SIZES, rope_parameters=ABSENT),
            [*each("apply_residual_connection_post_layernorm", True), *each("layer_norm_epsilon", 0.1), *UNTIED, *NOTHING],
            steps=[],
        ),
    },
    configs={
        "bloom-560m": published(1024, 24, 16, seq_length=2048),
        "bloom-7b1": published(4096, 30, 32),
        "bloom-saved": dict(
            architectures=["BloomForCausalLM"], model_type="bloom", hidden_size=1024, n_head=16, n_layer=24, layer_norm_epsilon=1e-5, seq_length=2048,
        ),
    },
    back="bloom",
)  # fmt: skip
