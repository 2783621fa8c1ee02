"""RND1, a diffusion model."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import qwen2

CONFIG = dict(
    architectures=["RND1"], model_type="rnd1", attention_bias=False, attention_dropout=0.0, decoder_sparse_step=1,
    eos_token_id=262, head_dim=8, hidden_act="silu", hidden_size=16, initializer_range=0.02, intermediate_size=24, mask_token_id=263,
    max_position_embeddings=64, max_window_layers=2, mlp_only_layers=[], moe_backend="hf", moe_intermediate_size=8, norm_topk_prob=True,
    num_attention_heads=4, num_diffusion_steps=256, num_experts=3, num_experts_per_tok=2, num_hidden_layers=2, num_key_value_heads=2,
    output_router_logits=False, rms_norm_eps=1e-6, rope_scaling=None, rope_theta=1000000.0, sliding_window=None, tie_word_embeddings=False,
    use_cache=False, use_sliding_window=False,
)  # fmt: skip


def shapes(tokens, keys=2, head=8, count=2, tied=False):
    def layer(name, _):
        found = layouts.attention(name, 4, keys, head) | layouts.inside(f"{name}.self_attn", dict(q_norm=[head], k_norm=[head]))
        return found | layouts.experts(name, 3, 8) | layouts.norms(name)

    return layouts.trunk(tokens, head=not tied) | layouts.layers(count, layer)


FAMILY = Family(
    None,
    to_gguf={
        "rnd1": Repository({}, qwen2, "qwen2", laid_out=layouts.laid_out(CONFIG, shapes)),
        "rnd1-tied": Repository(
            {}, qwen2, "qwen2", types=["f32"],
            laid_out=layouts.laid_out(
                dict({key: value for key, value in CONFIG.items() if key != "mask_token_id"}, num_key_value_heads=4, head_dim=4, num_hidden_layers=1, tie_word_embeddings=True),
                lambda tokens: shapes(tokens, 4, 4, 1, True), torch.float32,
            ),
        ),
    },
    configs={
        "rnd1-base": dict(
            CONFIG, head_dim=128, hidden_size=2048, intermediate_size=6144, mask_token_id=151669, max_position_embeddings=40960, max_window_layers=48,
            moe_intermediate_size=768, num_attention_heads=32, num_experts=128, num_experts_per_tok=8, num_hidden_layers=48, num_key_value_heads=4,
            vocab_size=151936,
        ),
    },
)  # fmt: skip
