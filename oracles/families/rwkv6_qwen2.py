"""RWKV 6 in place of Qwen 2's attention, laid out after published repositories."""

import family_layouts as layouts
import torch
from families.rwkv6 import time_mix
from family_blocks import Family, Repository
from family_tokenizers import qwen2

CONFIG = dict(
    architectures=["RWKV6Qwen2ForCausalLM"], model_type="rwkv6qwen2", attention_bias=True, attention_dropout=0.0, attention_output_bias=False, hidden_act="silu",
    hidden_size=16, initializer_range=0.02, intermediate_size=24, lora_rank_decay=6, lora_rank_tokenshift=4, max_position_embeddings=64, max_window_layers=2,
    num_attention_heads=2, num_hidden_layers=2, num_key_value_heads=1, rms_norm_eps=1e-6, rope_theta=1000000.0, sliding_window=None,
    tie_word_embeddings=False, use_cache=True, use_sliding_window=False,
)  # fmt: skip


def shapes(tokens, keys=1, biases=True):
    found = layouts.trunk(tokens)

    def layer(name, _):
        attention = layouts.attention(name, 2, keys, 8) | time_mix(f"{name}.self_attn") | {f"{name}.self_attn.gate.weight": [16, 16]}
        more = {f"{name}.self_attn.{part}_proj.bias": [16 if part == "q" else 8 * keys] for part in "qkv"} if biases else {}
        return attention | more | layouts.mlp(f"{name}.mlp", 24) | layouts.norms(name)

    return found | layouts.layers(2, layer)


FAMILY = Family(
    None,
    to_gguf={
        "rwkv6_qwen2": Repository({}, qwen2, "qwen2", types=["f32", "bf16"], laid_out=layouts.laid_out(CONFIG, shapes)),
        "rwkv6_qwen2-all": Repository(
            {}, qwen2, "qwen2", types=["auto"],
            laid_out=layouts.laid_out(
                {key: value for key, value in dict(CONFIG, num_key_value_heads=2).items() if not key.startswith("lora_")},
                lambda tokens: shapes(tokens, 2, False), torch.float32,
            ),
        ),
    },
    configs={
        "qrwkv6-32b": dict(
            CONFIG, hidden_size=5120, intermediate_size=27648, lora_rank_decay=192, lora_rank_tokenshift=96, max_position_embeddings=32768,
            max_window_layers=64, num_attention_heads=40, num_hidden_layers=64, num_key_value_heads=8, vocab_size=152064,
        ),
    },
)  # fmt: skip
