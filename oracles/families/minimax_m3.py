"""The text model of MiniMax M3. transformers 5.22 takes the keys out of its config that the converter asks for, so it gets the config as
published."""

import family_layouts as layouts
import torch
from families.kimi_vl import with_tokens
from families.minimax_m2 import minimax_m2
from family_blocks import Family, Repository


def text(layers=3, dense=1, keys=2, heads=4, **more):
    freq = [0] * dense + [1] * (layers - dense)
    sparse = dict(
        sparse_attention_freq=freq, sparse_block_size=4, sparse_index_dim=8, sparse_local_block=1, sparse_num_index_heads=keys, sparse_topk_blocks=2,
        use_sparse_attention=True,
    )  # fmt: skip
    said = dict(
        attention_dropout=0.0, bos_token_id=288, dense_intermediate_size=24, eos_token_id=289, head_dim=8, hidden_act="swigluoai", hidden_size=16,
        initializer_range=0.02, intermediate_size=8, max_position_embeddings=64, moe_layer_freq=freq, n_shared_experts=1, num_attention_heads=heads,
        num_experts_per_tok=2, num_hidden_layers=layers, num_key_value_heads=keys, num_local_experts=3, qk_norm_type="per_head", rms_norm_eps=1e-6,
        rope_theta=5000000, rotary_dim=4, routed_scaling_factor=2.0, scoring_func="sigmoid", shared_intermediate_size=8, sparse_attention_config=sparse,
        swiglu_alpha=1.702, swiglu_limit=7.0, tie_word_embeddings=False, use_cache=True, use_gemma_norm=True, use_qk_norm=True, use_routing_bias=True,
    )  # fmt: skip
    return said | more


def layer(name, dense, keys, experts=3, head=8):
    found = layouts.attention(name, 4, keys, head) | layouts.norms(name)
    found |= layouts.inside(f"{name}.self_attn", dict(q_norm=[head], k_norm=[head]))
    if dense:
        return found | layouts.mlp(f"{name}.mlp", 24)
    found |= layouts.inside(f"{name}.self_attn", dict(index_q_proj=[keys * 8, 16], index_k_proj=[8, 16], index_q_norm=[8], index_k_norm=[8]))
    moe = f"{name}.block_sparse_moe"
    for expert in range(experts):
        found |= layouts.inside(f"{moe}.experts.{expert}", dict(w1=[8, 16], w2=[16, 8], w3=[8, 16]))
    found |= {f"{moe}.gate.weight": [experts, 16], f"{moe}.e_score_correction_bias": [experts]}
    return found | layouts.mlp(f"{moe}.shared_experts", 8)


def shapes(tokens, layers=3, dense=1, keys=2):
    return layouts.trunk(tokens) | layouts.layers(layers, lambda name, number: layer(name, number < dense, keys))


def whole(tokens):
    beside = {
        "vision_tower.vision_model.embeddings.patch_embedding.weight": [16, 3, 2, 2, 2],
        "multi_modal_projector.linear_1.weight": [16, 16],
        "patch_merge_mlp.linear_1.weight": [16, 64],
    }
    return {f"language_model.{name}": shape for name, shape in shapes(tokens).items()} | beside


CONFIG = dict(architectures=["MiniMaxM3SparseForCausalLM"], model_type="minimax_m3")
WHOLE = dict(
    architectures=["MiniMaxM3SparseForConditionalGeneration"], model_type="minimax_m3_vl", image_token_index=290, projector_hidden_act="gelu",
    text_config=text(), vision_config=dict(hidden_size=16, model_type="clip_vision_model"),
)  # fmt: skip

FAMILY = Family(
    None,
    to_gguf={
        "minimax_m3": Repository({}, minimax_m2, "minimax-m2", laid_out=with_tokens(WHOLE, whole)),
        "minimax_m3-text": Repository(
            {}, minimax_m2, "minimax-m2", types=["f32"],
            laid_out=layouts.laid_out(CONFIG | text(2, 0, 1), lambda tokens: shapes(tokens, 2, 0, 1), torch.float16),
        ),
    },
)  # fmt: skip
