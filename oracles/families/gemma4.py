"""Gemma 4, dense and with experts, alone and with vision."""

from family_blocks import Family, Repository, shape
from family_tokenizers import GOOGLE, settings
from gguf_vocabularies import CHAT, WORDS, added, byte_fallback_bpe, pieces, write_json
from settings_rows import EPS, WINDOW, Cases, kinds, row

import transformers
import json
import os

S, F = "sliding_attention", "full_attention"
ROPE = dict(
    sliding_attention=dict(rope_type="default", rope_theta=10000.0),
    full_attention=dict(rope_type="proportional", partial_rotary_factor=0.25, rope_theta=1000000.0),
)
DENSE = dict(
    num_hidden_layers=3, layer_types=[S, F, F], head_dim=4, global_head_dim=8, sliding_window=16, hidden_size_per_layer_input=4,
    rope_parameters=ROPE, num_kv_shared_layers=1, final_logit_softcapping=30.0, use_double_wide_mlp=True,
)  # fmt: skip
MIXED = dict(
    num_hidden_layers=2, layer_types=[S, F], head_dim=8, global_head_dim=16, num_global_key_value_heads=1, attention_k_eq_v=True,
    sliding_window=16, hidden_size_per_layer_input=0, rope_parameters=ROPE, enable_moe_block=True, num_experts=3, top_k_experts=2,
    moe_intermediate_size=8,
)  # fmt: skip
VISION = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, head_dim=4, patch_size=4)
VISION = dict(VISION, position_embedding_size=4, pooling_kernel_size=1)


def gemma4(folder):
    """The tokens that programs read are behind the others."""
    found = pieces(GOOGLE, WORDS[:6])
    said = settings("GemmaTokenizer", bos_token="<bos>", eos_token="<eos>", unk_token="<unk>", pad_token="<pad>", mask_token="<mask>")
    byte_fallback_bpe(folder, [*found, ("<s>", 0.0, 3)], dict(said, chat_template=CHAT))
    path = os.path.join(folder, "tokenizer.json")
    tokenizer = json.load(open(path, encoding="utf-8"))
    tokenizer["normalizer"] = dict(type="Replace", pattern=dict(String=" "), content="\u2581")
    tokenizer["post_processor"] = None
    next_id = max(tokenizer["model"]["vocab"].values()) + 1
    tokenizer["added_tokens"] += [added(next_id + at, text) for at, text in enumerate(["<|tool_call>", "<channel|>", "<|image|>"])]
    write_json(folder, "tokenizer.json", tokenizer)
    return dict(bos_token_id=2, eos_token_id=1, pad_token_id=0)


def with_vision(text):
    said = dict(text, vocab_size_per_layer_input=text["vocab_size"])
    whole = transformers.Gemma4Config(text_config=said, vision_config=VISION, audio_config=None)
    return transformers.Gemma4ForConditionalGeneration(whole)


def alone(text):
    return transformers.Gemma4ForCausalLM(transformers.Gemma4TextConfig(**dict(text, vocab_size_per_layer_input=text["vocab_size"])))


PUBLISHED = dict(
    attention_bias=False, final_logit_softcapping=30.0, global_head_dim=512, head_dim=256, hidden_activation="gelu_pytorch_tanh",
    model_type="gemma4_text", rms_norm_eps=1e-6, tie_word_embeddings=True, use_cache=True, vocab_size_per_layer_input=262144,
    rope_parameters=ROPE,
)  # fmt: skip

FAMILY = Family(
    alone,
    to_gguf={
        "gemma4": Repository(DENSE, gemma4, None, spare=0),
        "gemma4-experts": Repository(MIXED, gemma4, None, types=["f32"], model=with_vision, spare=0),
    },
    configs={
        "gemma-4-e2b": dict(
            architectures=["Gemma4ForConditionalGeneration"], model_type="gemma4", audio_token_id=258881, vision_soft_tokens_per_image=280,
            text_config=dict(
                shape(1536, 6144, 35, 8, 1, 262144, 131072), **PUBLISHED, attention_k_eq_v=False, enable_moe_block=False, 
                hidden_size_per_layer_input=256, layer_types=([S] * 4 + [F]) * 7, moe_intermediate_size=None, num_experts=None,
                num_global_key_value_heads=None, num_kv_shared_layers=20, sliding_window=512, top_k_experts=None, use_bidirectional_attention=None,
                use_double_wide_mlp=True,
            ),
        ),
        "gemma-4-26b-a4b": dict(
            architectures=["Gemma4ForConditionalGeneration"], model_type="gemma4",
            text_config=dict(
                shape(2816, 2112, 30, 16, 8, 262144, 262144), **PUBLISHED, attention_k_eq_v=True, enable_moe_block=True, 
                hidden_size_per_layer_input=0, layer_types=([S] * 5 + [F]) * 5, moe_intermediate_size=704, num_experts=128,
                num_global_key_value_heads=2, num_kv_shared_layers=0, sliding_window=1024, top_k_experts=8, use_bidirectional_attention="vision",
                use_double_wide_mlp=False,
            ),
        ),
        "gemma4-bare": dict(architectures=["Gemma4ForCausalLM"], model_type="gemma4_text"),
    },
    settings={
        "gemma4": Cases(
            "gemma4",
            dict(
                DENSE, num_hidden_layers=6, layer_types=kinds("sfsfsf"), head_dim=16, global_head_dim=32, sliding_window=WINDOW,
                hidden_size_per_layer_input=16, num_kv_shared_layers=2,
            ),
            [row("layer_types", "ssfssf", layer_types=kinds("ssfssf")), *EPS],
        ),
    },
)  # fmt: skip
