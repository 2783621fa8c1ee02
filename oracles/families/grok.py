"""Grok 1 and 2, of which transformers has no classes."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import meta, plain_bpe
from gguf_vocabularies import CHAT, QWEN2, byte_level, split

pairs = plain_bpe([split(QWEN2), byte_level()], "PreTrainedTokenizerFast", "<|pad|>", "<|eos|>", "<|separator|>")


def grok2(folder):
    ids = pairs(folder)
    open(folder + "/chat_template.jinja", "w").write(CHAT)
    return ids


SIZES = dict(
    hidden_size=16, intermediate_size=24, max_position_embeddings=64, num_attention_heads=4, num_experts_per_tok=2, num_hidden_layers=2,
    num_key_value_heads=2, num_local_experts=3, rms_norm_eps=1e-5,
)  # fmt: skip
FIRST = dict(
    SIZES, architectures=["GrokForCausalLM"], model_type="grok-1", attn_output_multiplier=0.08838834764831845, embedding_multiplier_scale=78.38367176906169,
    hidden_act="gelu", output_multiplier_scale=0.5773502691896257, output_router_logits=False, rope_theta=10000.0, router_aux_loss_coef=0.001,
    tie_word_embeddings=False,
)  # fmt: skip
SECOND = dict(
    SIZES, architectures=["Grok1ForCausalLM"], model_type="git", attn_factor=1.0, attn_logit_softcapping=30.0, attn_temperature_len=1024, beta_fast=8,
    beta_slow=1, embedding_multiplier_scale=90.50966799187809, extrapolation_factor=1.0, final_logit_softcapping=50, global_attn_every_n=1, head_dim=4,
    moe_intermediate_size=8, original_max_position_embeddings=16, output_multiplier_scale=0.5, residual_moe=True, rope_theta=208533496,
    rope_type="original", router_logit_softcapping=20.0, scaling_factor=16.0, sliding_window_size=-1,
)  # fmt: skip


def first(tokens):
    found = {"transformer.in_out_embed.weight": [tokens, 16], "transformer.rms_norm.weight": [16], "lm_head.weight": [tokens, 16]}
    for layer in range(2):
        name = f"transformer.decoder_layer.{layer}"
        attention = dict(query=[16, 16], key=[8, 16], value=[8, 16], linear=[16, 16])
        found |= layouts.inside(f"{name}.multi_head_attention", attention) | {f"{name}.router.weight": [3, 16]}
        found |= {f"{name}.{norm}.weight": [16] for norm in ("rms_norm", "rms_norm_1", "rms_norm_2", "rms_norm_3")}
        for expert in range(3):
            found |= layouts.inside(f"{name}.moe.{expert}", dict(linear=[24, 16], linear_v=[24, 16], linear_1=[16, 24]))
    return found


def second(tokens):
    def of(name, number):
        found = layouts.attention(name, 4, 2, 4) | layouts.mlp(f"{name}.mlp", 24) | {f"{name}.block_sparse_moe.gate.weight": [3, 16]}
        found |= {f"{name}.{norm}.weight": [16] for norm in ("pre_attn_norm", "post_attn_norm", "pre_moe_norm", "post_moe_norm")}
        for expert in range(3):
            found |= layouts.inside(f"{name}.block_sparse_moe.experts.{expert}", dict(w1=[8, 16], w3=[8, 16], w2=[16, 8]))
        return found

    return layouts.trunk(tokens) | layouts.layers(2, of)


FAMILY = Family(
    None,
    to_gguf={
        "grok": Repository({}, meta, None, laid_out=layouts.laid_out(FIRST, first, torch.float16), types=["f32"]),
        "grok2": Repository({}, grok2, "grok-2", laid_out=layouts.laid_out(SECOND, second)),
    },
    configs={
        "grok-1": dict(
            FIRST, hidden_size=6144, intermediate_size=32768, max_position_embeddings=8192, num_attention_heads=48, num_hidden_layers=64,
            num_key_value_heads=8, num_local_experts=8, vocab_size=131072,
        ),
    },
    skipped={"grok": "transformers has no such class"},
)  # fmt: skip
