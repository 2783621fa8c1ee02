"""Orion."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import meta

CONFIG = dict(
    architectures=["OrionForCausalLM"], model_type="orion", attention_bias=False, bos_token_id=1, eos_token_id=2, hidden_act="silu", hidden_size=16,
    initializer_range=0.02, intermediate_size=24, max_position_embeddings=64, max_sequence_length=32, num_attention_heads=4, num_hidden_layers=2,
    num_key_value_heads=4, pad_token_id=0, pretraining_tp=1, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=10000.0, tie_word_embeddings=False,
)  # fmt: skip


def shapes(tokens, count=2, keys=4):
    def norms(name):
        found = layouts.norms(name)
        return found | {weight.replace(".weight", ".bias"): shape for weight, shape in found.items()}

    def of(name, _):
        return layouts.attention(name, 4, keys, 4) | layouts.mlp(f"{name}.mlp", 24) | norms(name)

    return layouts.trunk(tokens) | {"model.norm.bias": [16]} | layouts.layers(count, of)


FAMILY = Family(
    None,
    to_gguf={
        "orion": Repository({}, meta, None, types=["f32", "bf16"], laid_out=layouts.laid_out(CONFIG, shapes)),
        "orion-grouped": Repository(
            {}, meta, None, types=["f16"],
            laid_out=layouts.laid_out(
                dict({key: value for key, value in CONFIG.items() if key != "max_sequence_length"}, num_hidden_layers=1, num_key_value_heads=2),
                lambda tokens: shapes(tokens, 1, 2), torch.float16,
            ),
        ),
    },
    configs={
        "orion-14b": dict(
            CONFIG, hidden_size=5120, intermediate_size=15360, max_position_embeddings=4096, max_sequence_length=4096, num_attention_heads=40,
            num_hidden_layers=40, num_key_value_heads=40, vocab_size=84608,
        ),
        "orion-14b-longchat": dict(
            CONFIG, hidden_size=5120, intermediate_size=15360, max_position_embeddings=307200, max_sequence_length=307200, num_attention_heads=40,
            num_hidden_layers=40, num_key_value_heads=40, vocab_size=84608, rope_theta=500000.0,
        ),
    },
    beyond={"orion-14b-longchat": ["orion.rope.freq_base"]},
)  # fmt: skip
