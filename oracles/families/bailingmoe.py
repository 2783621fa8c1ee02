"""Ling Lite and Plus."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level, split

PATTERN = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
bailing = plain_bpe(
    [split(PATTERN), byte_level()], "PreTrainedTokenizerFast", "<|startoftext|>", "<|endoftext|>", normalizer=dict(type="NFC")
)
CONFIG = dict(
    architectures=["BailingMoeForCausalLM"], model_type="bailing_moe", first_k_dense_replace=0, head_dim=4, hidden_act="silu", hidden_size=16,
    intermediate_size=24, max_position_embeddings=64, moe_intermediate_size=8, multi_gate=False, norm_head=False, norm_softmax=False,
    norm_topk_prob=True, num_attention_heads=4, num_experts=3, num_experts_per_tok=2, num_hidden_layers=2, num_key_value_heads=2,
    num_shared_experts=2, rms_norm_eps=1e-6, rope_scaling=None, rope_theta=600000, tie_word_embeddings=False, use_bias=False,
    use_qkv_bias=False,
)  # fmt: skip


def attention(layer, heads, keys, head, width=layouts.WIDTH):
    return layouts.inside(f"{layer}.attention", dict(query_key_value=[(heads + 2 * keys) * head, width], dense=[width, heads * head]))


def shapes(tokens, heads=4, keys=2, head=4):
    of = lambda name, _: attention(name, heads, keys, head) | layouts.experts(name, 3, 8, 16) | layouts.norms(name)  # noqa: E731
    return layouts.trunk(tokens, embedding="word_embeddings") | layouts.layers(2, of)


FAMILY = Family(
    None,
    to_gguf={
        "bailingmoe": Repository({}, bailing, "bailingmoe", laid_out=layouts.laid_out(CONFIG, shapes)),
        "bailingmoe-wide": Repository(
            {}, bailing, "bailingmoe", types=["f32"],
            laid_out=layouts.laid_out(
                dict(CONFIG, head_dim=8, num_attention_heads=3, num_key_value_heads=1, norm_topk_prob=False),
                lambda tokens: shapes(tokens, 3, 1, 8), torch.float16,
            ),
        ),
    },
    configs={
        "ling-lite": dict(
            CONFIG, head_dim=128, hidden_size=2048, intermediate_size=5632, max_position_embeddings=16384, moe_intermediate_size=1408,
            num_attention_heads=16, num_experts=64, num_experts_per_tok=6, num_hidden_layers=28, num_key_value_heads=4, vocab_size=126464,
        ),
    },
)  # fmt: skip
