"""DeepSeek MoE, the first of DeepSeek's with experts."""

import family_layouts as layouts
import torch
from families.deepseek_v2 import coder
from family_blocks import Family, Repository

CONFIG = dict(
    architectures=["DeepseekForCausalLM"], model_type="deepseek", attention_bias=False, aux_loss_alpha=0.001, first_k_dense_replace=1,
    hidden_act="silu", hidden_size=16, intermediate_size=24, max_position_embeddings=64, moe_intermediate_size=8, moe_layer_freq=1,
    n_routed_experts=3, n_shared_experts=2, norm_topk_prob=False, num_attention_heads=4, num_experts_per_tok=2, num_hidden_layers=2,
    num_key_value_heads=4, rms_norm_eps=1e-6, rope_scaling=None, rope_theta=10000, scoring_func="softmax", seq_aux=True,
    tie_word_embeddings=False,
)  # fmt: skip


def shapes(tokens, keys=4, first=1):
    def of(name, number):
        inner = layouts.mlp(f"{name}.mlp", 24) if number < first else layouts.experts(name, 3, 8, 16)
        return layouts.attention(name, 4, keys, 4) | inner | layouts.norms(name)

    return layouts.trunk(tokens) | layouts.layers(2, of)


FAMILY = Family(
    None,
    to_gguf={
        "deepseek": Repository({}, coder, "deepseek-coder", laid_out=layouts.laid_out(CONFIG, shapes)),
        "deepseek-grouped": Repository(
            {}, coder, "deepseek-coder", types=["f32"],
            laid_out=layouts.laid_out(dict(CONFIG, num_key_value_heads=2, first_k_dense_replace=0), lambda tokens: shapes(tokens, 2, 0), torch.float16),
        ),
    },
    configs={
        "deepseek-moe-16b": dict(
            CONFIG, hidden_size=2048, intermediate_size=10944, max_position_embeddings=4096, moe_intermediate_size=1408, n_routed_experts=64,
            num_attention_heads=16, num_experts_per_tok=6, num_hidden_layers=28, num_key_value_heads=16, vocab_size=102400,
        ),
    },
)  # fmt: skip
