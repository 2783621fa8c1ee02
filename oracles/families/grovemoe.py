"""GroveMoE, of which transformers has no class."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import qwen2

CONFIG = dict(
    architectures=["GroveMoeForCausalLM"], model_type="grove_moe", attention_bias=False, attention_dropout=0.0, decoder_sparse_step=1, head_dim=8,
    hidden_act="silu", hidden_size=16, intermediate_size=24, max_position_embeddings=64, max_window_layers=2, mlp_only_layers=[],
    moe_intermediate_size=12, norm_topk_prob=True, num_attention_heads=4, num_experts=4, num_experts_per_tok=2, num_hidden_layers=2,
    num_key_value_heads=2, output_router_logits=False, rms_norm_eps=1e-6, rope_scaling=None, rope_theta=1000000.0, router_aux_loss_coef=0.001,
    sliding_window=None, tie_word_embeddings=False, use_sliding_window=False,
)  # fmt: skip


def shapes(tokens, keys=2, count=4, head=8, tied=False):
    def of(name, number):
        found = layouts.attention(name, 4, keys, head) | layouts.inside(f"{name}.self_attn", dict(q_norm=[head], k_norm=[head]))
        found |= layouts.experts(name, count, 12) | layouts.norms(name) | {f"{name}.mlp.gate.expert_bias": [count]}
        for pair in range(count // 2):
            found |= layouts.mlp(f"{name}.mlp.chunk_experts.{pair}", head)
        return found

    return layouts.trunk(tokens, head=not tied) | layouts.layers(2, of)


FAMILY = Family(
    None,
    to_gguf={
        "grovemoe": Repository({}, qwen2, "qwen2", laid_out=layouts.laid_out(CONFIG, shapes)),
        "grovemoe-tied": Repository(
            {}, qwen2, "qwen2", types=["f32"],
            laid_out=layouts.laid_out(
                dict(CONFIG, head_dim=4, num_key_value_heads=4, num_experts=6, tie_word_embeddings=True),
                lambda tokens: shapes(tokens, 4, 6, 4, True), torch.float16,
            ),
        ),
    },
    configs={
        "grovemoe-inst": dict(
            CONFIG, head_dim=128, hidden_size=2048, intermediate_size=6144, max_position_embeddings=40960, max_window_layers=48,
            moe_intermediate_size=768, num_attention_heads=32, num_experts=128, num_experts_per_tok=8, num_hidden_layers=48,
            num_key_value_heads=4, vocab_size=151936,
        ),
    },
    skipped={"grovemoe": "transformers has no such class"},
)  # fmt: skip
