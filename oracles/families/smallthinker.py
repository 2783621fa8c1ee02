"""SmallThinker, of which transformers has no class."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import qwen2

CONFIG = dict(
    architectures=["SmallThinkerForCausalLM"], model_type="smallthinker", head_dim=8, hidden_size=16, max_position_embeddings=64,
    moe_enable_early_router=True, moe_enable_secondary_experts=False, moe_ffn_hidden_size=8, moe_layer_layout=[1, 1],
    moe_num_active_primary_experts=2, moe_num_primary_experts=3, moe_num_secondary_experts=0, moe_primary_router_apply_softmax=False,
    moe_secondary_expert_size=0, norm_topk_prob=True, num_attention_heads=4, num_hidden_layers=2, num_key_value_heads=2, output_router_logits=False,
    rms_norm_eps=1e-6, rope_layout=[0, 1], rope_scaling=None, rope_theta=1500000.0, sliding_window_layout=[0, 1], sliding_window_size=4096,
    tie_word_embeddings=False,
)  # fmt: skip


def shapes(tokens, keys=2, count=3, head=8, tied=False):
    def of(name, number):
        found = layouts.attention(name, 4, keys, head) | layouts.norms(name) | {f"{name}.block_sparse_moe.primary_router.weight": [count, 16]}
        for expert in range(count):
            found |= layouts.inside(f"{name}.block_sparse_moe.experts.{expert}", dict(gate=[8, 16], up=[8, 16], down=[16, 8]))
        return found

    return layouts.trunk(tokens, head=not tied) | layouts.layers(2, of)


FAMILY = Family(
    None,
    to_gguf={
        "smallthinker": Repository({}, qwen2, "qwen2", laid_out=layouts.laid_out(CONFIG, shapes)),
        "smallthinker-open": Repository(
            {}, qwen2, "qwen2", types=["f32"],
            laid_out=layouts.laid_out(
                dict(
                    CONFIG, head_dim=4, num_key_value_heads=1, moe_num_primary_experts=4, moe_primary_router_apply_softmax=True, rope_layout=[1, 1],
                    sliding_window_layout=[0, 0], tie_word_embeddings=True,
                ),
                lambda tokens: shapes(tokens, 1, 4, 4, True), torch.float16,
            ),
        ),
    },
    configs={
        "smallthinker-21ba3b": dict(
            CONFIG, head_dim=128, hidden_size=2560, max_position_embeddings=16384, moe_ffn_hidden_size=768, moe_layer_layout=[1] * 52,
            moe_num_active_primary_experts=6, moe_num_primary_experts=64, num_attention_heads=28, num_hidden_layers=52, num_key_value_heads=4,
            rope_layout=[0, 1, 1, 1] * 13, sliding_window_layout=[0, 1, 1, 1] * 13, vocab_size=151936,
        ),
        "smallthinker-other": dict(
            CONFIG, moe_layer_layout=[1] * 4, num_hidden_layers=4, rope_layout=[1] * 4, sliding_window_layout=[1, 0, 1, 1], sliding_window_size=16,
            vocab_size=300,
        ),
    },
    warned={"smallthinker-other": ["sliding_window_layout", "sliding_window_size", "rope_layout"]},
    skipped={"smallthinker": "transformers has no such class"},
)  # fmt: skip
