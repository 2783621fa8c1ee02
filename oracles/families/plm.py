"""PLM."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import qwen2

CONFIG = dict(
    architectures=["PLMForCausalLM"], model_type="plm", attention_bias=False, hidden_act="relu2", hidden_size=16, intermediate_size=24,
    kv_lora_rank=10, max_position_embeddings=64, max_window_layers=2, num_attention_heads=4, num_hidden_layers=2, num_key_value_heads=4,
    q_lora_rank=None, qk_nope_head_dim=6, qk_rope_head_dim=4, rms_norm_eps=1e-6, rope_scaling=None, rope_theta=100000.0,
    sliding_window=4096, tie_word_embeddings=True, use_sliding_window=False, v_head_dim=8,
)  # fmt: skip


def shapes(tokens, value=8):
    def of(name, _):
        return layouts.latent(name, 4, 6, 4, value, 10) | layouts.mlp(f"{name}.mlp", 24, gated=False) | layouts.norms(name)

    return layouts.trunk(tokens, head=False) | layouts.layers(2, of)


FAMILY = Family(
    None,
    to_gguf={
        "plm": Repository({}, qwen2, "qwen2", laid_out=layouts.laid_out(CONFIG, shapes)),
        "plm-narrow": Repository(
            {}, qwen2, "qwen2", types=["f16"],
            laid_out=layouts.laid_out(
                dict(CONFIG, v_head_dim=3, rope_scaling=dict(type="linear", factor=2.0)), lambda tokens: shapes(tokens, 3), torch.float16
            ),
        ),
    },
    configs={
        "plm-1.8b": dict(
            CONFIG, hidden_size=2048, intermediate_size=8192, kv_lora_rank=512, max_position_embeddings=4096, num_attention_heads=16,
            num_hidden_layers=32, num_key_value_heads=16, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128, vocab_size=151936,
        ),
    },
)  # fmt: skip
