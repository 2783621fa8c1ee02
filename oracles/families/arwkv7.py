"""RWKV 7 in place of Qwen 2's attention, laid out after published repositories."""

import family_layouts as layouts
import torch
from families.rwkv7 import mixer
from family_blocks import Family, Repository
from family_tokenizers import qwen2

CONFIG = dict(
    architectures=["RwkvHybridForCausalLM"], model_type="rwkv_hybrid", attention_dropout=0.0, head_size=8, head_size_divisor=8, hidden_act="silu", hidden_size=16,
    initializer_range=0.02, intermediate_size=24, max_position_embeddings=64, max_window_layers=2, num_attention_heads=2, num_hidden_layers=2,
    num_key_value_heads=1, num_wkv_heads=2, rms_norm_eps=1e-6, rope_scaling=None, rope_theta=1000000.0, sliding_window=None, tie_word_embeddings=False,
    use_cache=True, use_sliding_window=False, wkv_has_gate=True, wkv_has_group_norm=True, wkv_layers="full", wkv_use_vfirst=True, wkv_version=7,
)  # fmt: skip


def shapes(tokens, parts="rwkvag", norm=True):
    found = layouts.trunk(tokens)

    def layer(name, number):
        attention = mixer(f"{name}.self_attn.time_mixer", number, parts=parts)
        attention = {key: shape for key, shape in attention.items() if norm or ".ln_x." not in key}
        return attention | layouts.mlp(f"{name}.mlp", 24) | layouts.norms(name)

    return found | layouts.layers(2, layer)


FAMILY = Family(
    None,
    to_gguf={
        "arwkv7": Repository({}, qwen2, "qwen2", types=["f32", "bf16"], laid_out=layouts.laid_out(CONFIG, shapes)),
        # Without a gate.
        "arwkv7-open": Repository(
            {}, qwen2, "qwen2", types=["auto"],
            laid_out=layouts.laid_out(
                dict(CONFIG, wkv_has_gate=False, wkv_has_group_norm=False), lambda tokens: shapes(tokens, "rwkva", False), torch.float32
            ),
        ),
    },
    configs={
        "arwkv-7b": dict(
            CONFIG, head_size=64, hidden_size=3584, intermediate_size=18944, max_position_embeddings=131072, max_window_layers=28, num_attention_heads=28,
            num_hidden_layers=28, num_key_value_heads=4, num_wkv_heads=56, vocab_size=152064, wkv_has_gate=False, wkv_has_group_norm=False,
        ),
    },
)  # fmt: skip
