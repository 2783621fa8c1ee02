"""Step 3.5. The converter needs keys that the class of transformers calls otherwise."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import deepseek
from gguf_vocabularies import DEEPSEEK_V3, split

step = deepseek([split(pattern) for pattern in DEEPSEEK_V3])
KINDS = ["full_attention", "sliding_attention", "sliding_attention"]
CONFIG = dict(
    architectures=["Step3p5ForCausalLM"], model_type="step3p5", att_impl_type="GQA",
    attention_other_setting=dict(attention_type="sliding_attention", head_dim=8, num_attention_groups=2, num_attention_heads=6),
    head_dim=8, hidden_size=16, intermediate_size=12, layer_types=KINDS, max_position_embeddings=64, moe_every_n_layer=1, moe_intermediate_size=8,
    moe_layer_offset=0, moe_layers_enum="1", moe_num_experts=3, moe_router_activation="sigmoid", moe_router_scaling_factor=3.0, moe_top_k=2,
    need_fp32_gate=True, norm_expert_weight=True, num_attention_groups=2, num_attention_heads=4, num_hidden_layers=2, num_nextn_predict_layers=1,
    partial_rotary_factors=[0.5, 1.0, 1.0], rms_norm_eps=1e-5,
    rope_scaling=dict(rope_type="llama3", factor=2.0, high_freq_factor=32.0, low_freq_factor=1.0, original_max_position_embeddings=64),
    rope_theta=[5000000.0, 10000.0, 10000.0], share_expert_dim=8, sink=False, sliding_window=16, swiglu_limits=[0.0, 7.0, 0.0],
    swiglu_limits_shared=[0.0, 16.0, 0.0], tie_word_embeddings=False, use_head_wise_attn_gate=True, use_mfa=False, use_moe=True,
    use_moe_router_bias=True, use_qk_norm=True, use_rope_layers=[], yarn_only_types=["full_attention"], zero_centered=True,
)  # fmt: skip


def block(name, heads, has_experts, groups=2):
    found = layouts.attention(name, heads, groups, 8) | layouts.norms(name)
    found |= layouts.inside(f"{name}.self_attn", dict(q_norm=[8], k_norm=[8], g_proj=[heads, 16]))
    if not has_experts:
        return found | layouts.mlp(f"{name}.mlp", 12)
    found |= layouts.inside(f"{name}.moe", dict(gate=[3, 16], gate_proj=[3, 8, 16], up_proj=[3, 8, 16], down_proj=[3, 16, 8]))
    return found | {f"{name}.moe.router_bias": [3]} | layouts.mlp(f"{name}.share_expert", 8)


def shapes(tokens):
    found = layouts.trunk(tokens) | block("model.layers.0", 4, False) | block("model.layers.1", 6, True) | block("model.layers.2", 6, False)
    found |= layouts.inside("model.layers.2", dict(eh_proj=[16, 32], enorm=[16], hnorm=[16]))
    return found | {"model.layers.2.transformer.shared_head.norm.weight": [16], "model.layers.2.transformer.shared_head.output.weight": [tokens, 16]}


def plain(tokens):
    return layouts.trunk(tokens) | block("model.layers.0", 4, True, 4) | block("model.layers.1", 4, True, 4)


FAMILY = Family(
    None,
    to_gguf={
        "step35": Repository({}, step, "deepseek-v3", laid_out=layouts.laid_out(CONFIG, shapes, single=["router_bias"]), next_apart=True),
        "step35-plain": Repository(
            {}, step, "deepseek-v3", types=["f32"],
            laid_out=layouts.laid_out(
                dict(
                    CONFIG, attention_other_setting=None, layer_types=["full_attention", "sliding_attention"], num_nextn_predict_layers=0,
                    partial_rotary_factors=[0.5, 1.0], moe_layers_enum="0,1", num_attention_groups=4, rope_scaling=None, rope_theta=10000.0,
                    swiglu_limits=None, swiglu_limits_shared=None, norm_expert_weight=False,
                ),
                plain, torch.float16,
            ),
        ),
    },
    skipped={"step35": "the converter needs keys that the class of transformers calls otherwise"},
)  # fmt: skip
