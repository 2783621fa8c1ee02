"""Phi 1 to 2."""

from family_blocks import Family, Repository, config
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level
from settings_rows import ACT, HEAD, KV, NOTHING, TIED, Cases, each, partial, theta

codegen = plain_bpe([byte_level(use_regex=True)], "CodeGenTokenizer", "<|endoftext|>", "<|endoftext|>", "\t\t")
# The converter takes it for granted.
INNER = dict(intermediate_size=64, num_key_value_heads=4)

FAMILY = Family(
    "Phi",
    to_gguf={
        "phi": Repository(dict(INNER, num_hidden_layers=2), codegen, "phi-2", types=["f32", "bf16"]),
        "phi-whole": Repository(
            dict(INNER, rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=1.0), layer_norm_eps=1e-4),
            codegen, "phi-2", dtype="float16", types=["f16"],
        ),
    },
    configs={
        "phi-2": config(
            "PhiForCausalLM", "phi", 2560, 10240, 32, 32, 32, 51200, 2048,
            attention_dropout=0.0, embd_pdrop=0.0, hidden_act="gelu_new", layer_norm_eps=1e-5, partial_rotary_factor=0.4, qk_layernorm=False,
            resid_pdrop=0.1, rope_scaling=None, rope_theta=10000.0, tie_word_embeddings=False,
        ),
        "phi-1": config("PhiForCausalLM", "phi", 2048, 8192, 24, 32, None, 51200, 2048, partial_rotary_factor=0.5),
        "phi-base": config(
            "PhiForCausalLM", "phi", 2048, 6144, 24, 32, 8, 51200, 8192, rope_theta=50000.0, rope_scaling=dict(type="linear", factor=4.0)
        ),
        "phi-bare": dict(architectures=["PhiForCausalLM"], model_type="phi"),
    },
    beyond={
        "phi-base": [
            "phi2.feed_forward_length", "phi2.attention.head_count_kv", "phi2.rope.freq_base", "phi2.rope.scaling.type", "phi2.rope.scaling.factor",
        ],
    },
    settings={
        "phi2": Cases(
            "phi",
            dict(intermediate_size=256, num_key_value_heads=4),
            [*each("intermediate_size", 96), *each("qk_layernorm", True), *theta(50000.0), *partial(0.25), *TIED, *HEAD, *ACT, *each("layer_norm_eps", 0.1), *KV, *NOTHING],
        ),
    },
    back="phi",
)  # fmt: skip
