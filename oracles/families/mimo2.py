"""MiMo V2. The converter needs keys that the class of transformers does not have."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import qwen2

CONFIG = dict(
    architectures=["MiMoV2FlashForCausalLM"], model_type="mimo_v2_flash", add_full_attention_sink_bias=False, add_swa_attention_sink_bias=True,
    attention_bias=False, attention_chunk_size=16, attention_dropout=0.0, attention_value_scale=0.707, head_dim=6, hidden_act="silu", hidden_size=16,
    hybrid_block_size=None, hybrid_layer_pattern=[0, 1], intermediate_size=12, layernorm_epsilon=1e-5, max_position_embeddings=64,
    moe_intermediate_size=8, moe_layer_freq=[0, 1], n_group=1, n_routed_experts=3, n_shared_experts=None, norm_topk_prob=True,
    num_attention_heads=4, num_experts_per_tok=2, num_hidden_layers=2, num_key_value_heads=1, partial_rotary_factor=0.334, rope_theta=5000000,
    routed_scaling_factor=None, scoring_func="sigmoid", sliding_window=16, sliding_window_size=16, swa_head_dim=6, swa_num_attention_heads=4,
    swa_num_key_value_heads=2, swa_rope_theta=10000, swa_v_head_dim=4, tie_word_embeddings=False, topk_group=1, topk_method="noaux_tc", v_head_dim=4,
)  # fmt: skip


def attention(name, keys, fused):
    made = dict(q_proj=[24, 16], k_proj=[6 * keys, 16], v_proj=[4 * keys, 16])
    made = dict(qkv_proj=[24 + 10 * keys, 16]) if fused else made
    return layouts.inside(f"{name}.self_attn", dict(made, o_proj=[16, 16]))


def shapes(tokens, fused=False, count=3):
    def of(name, number):
        found = attention(name, number + 1, fused) | layouts.norms(name)
        sinks = {f"{name}.self_attn.attention_sink_bias": [4]} if number else {}
        experts = layouts.experts(name, count, 8) | {f"{name}.mlp.gate.e_score_correction_bias": [count]}
        return found | sinks | (experts if number else layouts.mlp(f"{name}.mlp", 12))

    found = layouts.trunk(tokens) | layouts.layers(2, of)
    for layer in range(3):
        name = f"model.mtp.layers.{layer}"
        found |= attention(name, 2, fused) | layouts.norms(name) | layouts.mlp(f"{name}.mlp", 12) | {f"{name}.self_attn.attention_sink_bias": [4]}
        found |= layouts.inside(name, dict(eh_proj=[16, 32], enorm=[16], hnorm=[16], final_layernorm=[16]))
    return found


FAMILY = Family(
    None,
    to_gguf={
        "mimo2": Repository({}, qwen2, "qwen2", laid_out=layouts.laid_out(CONFIG, shapes, single=["e_score_correction_bias"]), next_apart=True),
        "mimo2-fused": Repository(
            {}, qwen2, "qwen2", types=["f32"],
            laid_out=layouts.laid_out(
                dict(CONFIG, architectures=["MiMoV2ForCausalLM"], model_type="mimo_v2", attention_value_scale=None, n_routed_experts=4, attention_projection_layout="fused_qkv"),
                lambda tokens: shapes(tokens, True, 4), torch.float16,
            ),
        ),
    },
    configs={
        "mimo-v2": dict(
            CONFIG, architectures=["MiMoV2ForCausalLM"], model_type="mimo_v2", head_dim=192, hidden_size=4096, hybrid_layer_pattern=[0, 1, 1, 1, 1, 0] * 8,
            intermediate_size=16384, max_position_embeddings=262144, moe_intermediate_size=2048, moe_layer_freq=[0] + [1] * 47, n_routed_experts=256,
            num_attention_heads=64, num_experts_per_tok=8, num_hidden_layers=48, num_key_value_heads=4, sliding_window=128, sliding_window_size=128,
            swa_head_dim=192, swa_num_attention_heads=64, swa_num_key_value_heads=8, swa_v_head_dim=128, v_head_dim=128, vocab_size=152576,
        ),
    },
    skipped={"mimo2": "the converter needs keys that the class of transformers does not have"},
)  # fmt: skip
