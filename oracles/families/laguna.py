"""Laguna."""

import gguf_vocabularies as vocabularies
from family_blocks import Family, Repository, config
from family_tokenizers import settings
from gguf_vocabularies import CHAT, LLAMA3, byte_level, split
from settings_rows import ACT, EPS, NOTHING, WINDOW, Cases, each, kinds, row


def laguna(folder):
    """A token that ends a turn, and is not called special. The template has a file of its own."""
    tokens = ["<eos>", "<pad>", "</assistant>"]
    said = settings("PreTrainedTokenizerFast", bos_token=tokens[0], eos_token=tokens[0], pad_token=tokens[1], chat_template="{% include 'chat_template.jinja' %}")
    ids = vocabularies.byte_level_bpe(folder, [split(LLAMA3), byte_level()], tokens, said)
    path = folder + "/tokenizer.json"
    text = open(path, encoding="utf-8").read()
    at = text.index('"</assistant>"')
    open(path, "w", encoding="utf-8").write(text[:at] + text[at:].replace('"special": true', '"special": false', 1))
    open(folder + "/chat_template.jinja", "w").write(CHAT)
    return dict(bos_token_id=ids[tokens[0]], eos_token_id=[ids[tokens[0]], ids[tokens[2]]], pad_token_id=ids[tokens[1]])


SIZES = dict(
    num_experts=3, num_experts_per_tok=2, moe_intermediate_size=8, shared_expert_intermediate_size=12, head_dim=8, sliding_window=16, num_key_value_heads=2,
    intermediate_size=8,
)  # fmt: skip
YARN = dict(rope_type="yarn", rope_theta=500000.0, factor=8.0, original_max_position_embeddings=16, beta_fast=32.0, beta_slow=1.0, partial_rotary_factor=0.5)
PLAIN = dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=1.0)
BY_LAYER = dict(full_attention=YARN, sliding_attention=PLAIN)
KINDS = ["full_attention"] + ["sliding_attention"] * 3

FAMILY = Family(
    "Laguna",
    to_gguf={
        "laguna": Repository(
            dict(
                SIZES, num_hidden_layers=4, layer_types=KINDS, num_attention_heads_per_layer=[4, 6, 6, 6], rope_parameters=BY_LAYER,
                moe_routed_scaling_factor=2.5, gating="per-head",
            ),
            laguna, "dbrx",
        ),
        "laguna-open": Repository(
            dict(
                SIZES, num_experts=4, num_hidden_layers=2, layer_types=["full_attention"] * 2, sliding_window=0, gating="per-element",
                mlp_layer_types=["dense", "sparse"], tie_word_embeddings=True, rope_parameters=dict(full_attention=dict(PLAIN, rope_theta=500000.0)),
            ),
            laguna, "dbrx", dtype="float16", types=["f32"],
        ),
    },
    configs={
        "laguna-xs.2": config(
            "LagunaForCausalLM", "laguna", 2048, 8192, 40, 48, 8, 100352, 131072,
            attention_bias=False, eos_token_id=[2, 24], bos_token_id=2, gating=True, head_dim=128, hidden_act="silu", layer_types=KINDS * 10,
            mlp_layer_types=["dense"] + ["sparse"] * 39, moe_apply_router_weight_on_input=False, moe_intermediate_size=512,
            moe_routed_scaling_factor=2.5, num_attention_heads_per_layer=[48, 64, 64, 64] * 10, num_experts=256, num_experts_per_tok=8,
            rms_norm_eps=1e-6, rope_parameters=dict(BY_LAYER, full_attention=dict(YARN, original_max_position_embeddings=4096, factor=32.0)),
            shared_expert_intermediate_size=512, sliding_window=512, tie_word_embeddings=False,
        ),
    },
    settings={
        "laguna": Cases(
            "laguna",
            dict(
                num_experts=6, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=32, head_dim=16, sliding_window=WINDOW,
                num_key_value_heads=2, layer_types=kinds("fsss"),
                rope_parameters=dict(full_attention=dict(PLAIN, rope_theta=500000.0, partial_rotary_factor=0.5), sliding_attention=PLAIN),
            ),
            [
                row("layer_types", "sfsf", layer_types=kinds("sfsf")), *each("gating", "per-element"), *each("moe_routed_scaling_factor", 2.5),
                *[*ACT, *EPS, *NOTHING],
            ],
            steps=[],
        ),
    },
)  # fmt: skip
