"""LLaDA with experts, of which transformers has no class."""

import family_layouts as layouts
import torch
from families.bailingmoe import PATTERN
from family_blocks import Family, Repository
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level, split

llada = plain_bpe(
    [split(PATTERN), byte_level()], "PreTrainedTokenizerFast", "<|startoftext|>", "<|endoftext|>", "<|mask|>", normalizer=dict(type="NFC")
)
CONFIG = dict(
    architectures=["LLaDAMoEModelLM"], model_type="llada", attention_bias=False, attention_dropout=0.0, clip_qkv=None, dense_intermediate_size=24,
    expert_intermediate_size=8, hidden_act="silu", hidden_size=16, max_position_embeddings=64, moe_layer_freq=[1, 1],
    moe_router_enable_expert_bias=False, moe_router_score_function="softmax", norm_topk_prob=None, num_attention_heads=4, num_experts=3,
    num_experts_per_tok=2, num_hidden_layers=2, num_key_value_heads=4, partial_rotary_factor=1, qk_layernorm=True, rms_norm_eps=1e-5,
    rope_scaling=None, rope_theta=50000, routed_scaling_factor=1, router_num_group=None, router_topk_group=None,
    shared_expert_intermediate_size=None, tie_word_embeddings=False,
)  # fmt: skip


def shapes(tokens, keys=4, experts=3):
    def of(name, number):
        norms = layouts.inside(f"{name}.self_attn", dict(q_norm=[4], k_norm=[4]))
        return layouts.attention(name, 4, keys, 4) | norms | layouts.experts(name, experts, 8) | layouts.norms(name)

    return layouts.trunk(tokens) | layouts.layers(2, of)


FAMILY = Family(
    None,
    to_gguf={
        "llada_moe": Repository({}, llada, "llada-moe", laid_out=layouts.laid_out(CONFIG, shapes)),
        "llada_moe-grouped": Repository(
            {}, llada, "llada-moe", types=["f32"],
            laid_out=layouts.laid_out(
                dict(CONFIG, architectures=["LLaDAMoEModel"], num_key_value_heads=2, num_experts=4), lambda tokens: shapes(tokens, 2, 4), torch.float16
            ),
        ),
    },
    configs={
        "llada-moe-7b-a1b": dict(
            CONFIG, dense_intermediate_size=8192, expert_intermediate_size=1024, hidden_size=2048, max_position_embeddings=8192,
            moe_layer_freq=[1] * 16, num_attention_heads=16, num_experts=64, num_experts_per_tok=8, num_hidden_layers=16, num_key_value_heads=16,
            vocab_size=157184,
        ),
    },
    skipped={"llada_moe": "transformers has no such class"},
)  # fmt: skip
