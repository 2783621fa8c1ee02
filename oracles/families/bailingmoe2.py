"""Ling and Ring 2.0."""

import family_layouts as layouts
import torch
from families.bailingmoe import PATTERN
from family_blocks import Family, Repository
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level, split

bailing = plain_bpe(
    [split(PATTERN), byte_level()], "PreTrainedTokenizerFast", "<|startoftext|>", "<|role_end|>", normalizer=dict(type="NFC")
)
CONFIG = dict(
    architectures=["BailingMoeV2ForCausalLM"], model_type="bailing_moe_v2", first_k_dense_replace=1, head_dim=4, hidden_act="silu", hidden_size=16,
    intermediate_size=24, max_position_embeddings=64, moe_intermediate_size=8, moe_router_enable_expert_bias=True, n_group=1, norm_topk_prob=True,
    num_attention_heads=4, num_experts=4, num_experts_per_tok=2, num_hidden_layers=2, num_key_value_heads=2, num_nextn_predict_layers=0,
    num_shared_experts=1, partial_rotary_factor=0.5, rms_norm_eps=1e-6, rope_scaling=None, rope_theta=600000, routed_scaling_factor=2.5,
    score_function="sigmoid", tie_word_embeddings=False, topk_group=1, use_bias=False, use_qk_norm=True, use_qkv_bias=False, use_rmsnorm=True,
)  # fmt: skip


def layer(name, dense, keys, head):
    attention = dict(query_key_value=[(4 + 2 * keys) * head, 16], dense=[16, 4 * head], query_layernorm=[head], key_layernorm=[head])
    inner = layouts.mlp(f"{name}.mlp", 24) if dense else layouts.experts(name, 4, 8, 8) | {f"{name}.mlp.gate.expert_bias": [4]}
    return layouts.inside(f"{name}.attention", attention) | inner | layouts.norms(name)


def shapes(tokens, keys=2, following=0):
    found = layouts.trunk(tokens, embedding="word_embeddings")
    found |= layouts.layers(2 + following, lambda name, number: layer(name, number == 0, keys, 4))
    beside = dict(eh_proj=[16, 32], enorm=[16], hnorm=[16], final_layernorm=[16])
    return found | (layouts.inside("model.layers.2", beside) if following else {})


FAMILY = Family(
    None,
    to_gguf={
        "bailingmoe2": Repository({}, bailing, "bailingmoe2", laid_out=layouts.laid_out(CONFIG, shapes, single=["expert_bias"])),
        # One more layer that predicts a further token, and groups of experts.
        "bailingmoe2-next": Repository(
            {}, bailing, "bailingmoe2", types=["f32"],
            laid_out=layouts.laid_out(
                dict(CONFIG, num_nextn_predict_layers=1, num_key_value_heads=4, n_group=2, moe_shared_expert_intermediate_size=8),
                lambda tokens: shapes(tokens, 4, 1), torch.float16,
            ),
        ),
    },
    configs={
        "ling-mini-2.0": dict(
            CONFIG, model_type="bailing_moe", head_dim=128, hidden_size=2048, intermediate_size=5120, max_position_embeddings=32768,
            moe_intermediate_size=512, n_group=8, topk_group=4, num_attention_heads=16, num_experts=256, num_experts_per_tok=8,
            num_hidden_layers=20, num_key_value_heads=4, rotary_dim=64, router_dtype="fp32", vocab_size=157184,
        ),
    },
)  # fmt: skip
