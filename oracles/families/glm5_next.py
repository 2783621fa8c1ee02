"""The text model of GLM 5.3 Flash. A config of the whole, with everything that the class would fill in."""

import family_layouts as layouts
import torch
from families.glm4_moe import glm4_moe
from families.kimi_vl import with_tokens
from family_blocks import Family, Repository


def text(kinds, indexers, dense=1, next=0, **more):
    linear = dict(gate_lower_bound=-5.0, head_dim=4, num_heads=4, safe_gate=True, short_conv_kernel_size=4)
    said = dict(
        attention_bias=False, first_k_dense_replace=dense, hc_eps=1e-6, hc_mult=4, hc_sinkhorn_iters=20, hidden_act="silu", hidden_size=16,
        index_head_dim=8, index_kpool=2, index_kpool_always_select_tail=True, index_n_heads=2, index_topk=4, indexer_types=indexers,
        intermediate_size=24, kv_lora_rank=10, layer_types=kinds, linear_attn_config=linear, max_position_embeddings=64, mhc=True, mla_use_nope=True,
        mlp_layer_types=["dense"] * dense + ["sparse"] * (len(kinds) - dense), model_type="glm5_next_text", moe_intermediate_size=8, n_group=1,
        n_routed_experts=3, n_shared_experts=1, norm_topk_prob=True, num_attention_heads=4, num_experts_per_tok=2, num_hidden_layers=len(kinds),
        num_key_value_heads=4, num_nextn_predict_layers=next, q_lora_rank=12, qk_nope_head_dim=6, qk_rope_head_dim=0, rms_norm_eps=1e-5,
        routed_scaling_factor=2.5, scoring_func="sigmoid", swiglu_limit=10.0, tie_word_embeddings=False, topk_group=1, topk_method="noaux_tc",
        v_head_dim=8,
    )  # fmt: skip
    return said | more


def whole(**said):
    return dict(
        architectures=["Glm5NextForConditionalGeneration"], model_type="glm5_next", image_token_id=290, text_config=said,
        tie_word_embeddings=False, vision_config=dict(hidden_size=16, model_type="glm5_next_vision"),
    )  # fmt: skip


def delta(name, heads=4, head=4, width=16):
    made = heads * head
    shapes = dict(
        q_proj=[made, width], k_proj=[made, width], v_proj=[made, width], q_conv1d=[made, 1, 4], k_conv1d=[made, 1, 4], v_conv1d=[made, 1, 4],
        f_a_proj=[head, width], f_b_proj=[made, head], b_proj=[heads, width], g_a_proj=[head, width], g_b_proj=[made, head], o_norm=[head],
        o_proj=[width, made],
    )  # fmt: skip
    return layouts.inside(f"{name}.self_attn", shapes) | {f"{name}.self_attn.A_log": [heads], f"{name}.self_attn.dt_bias": [made]}


def chosen(name):
    """DeepSeek's attention, with an indexer of pools."""
    found = layouts.inside(f"{name}.self_attn.indexer", dict(wq_b=[16, 12], wk=[8, 16], k_norm=[8], weights_proj=[2, 16]))
    pools = {"k_norm.bias": [8], "index_kpool_compress_ape": [2, 8], "index_kpool_compress_gate": [8, 16]}
    return found | layouts.inside(f"{name}.self_attn.indexer", pools, "")


def layer(name, kind, indexer, dense, streams=True):
    found = layouts.norms(name)
    found |= delta(name) if kind == "linear_attention" else layouts.latent(name, 4, 6, 0, 8, 10, 12)
    if kind != "linear_attention" and indexer == "full":
        found |= chosen(name)
    if streams:
        shapes = dict(fn=[24, 64], base=[24], scale=[3])
        found |= {f"{name}.hc_{part}_{key}": shape for part in ("attn", "ffn") for key, shape in shapes.items()}
    if dense:
        return found | layouts.mlp(f"{name}.mlp", 24)
    return found | layouts.experts(name, 3, 8, 8) | {f"{name}.mlp.gate.e_score_correction_bias": [3]}


def shapes(tokens, kinds, indexers, dense=1, next=0):
    def one(name, number):
        return layer(name, kinds[number], indexers[number], number < dense)

    found = layouts.trunk(tokens) | layouts.layers(len(kinds), one)
    if next:
        last = f"model.layers.{len(kinds)}"
        found |= layer(last, "indexed_attention", "full", False, False)
        found |= layouts.inside(last, {"eh_proj": [16, 32], "enorm": [16], "hnorm": [16], "shared_head.norm": [16]})
    renamed = {name.replace("model.", "model.language_model.", 1): shape for name, shape in found.items()}
    return renamed | {"model.visual.patch_embed.proj.weight": [16, 3, 2, 2]}


KINDS = ["linear_attention", "indexed_attention"]
INDEXERS = ["full", "full"]
SINGLE = ["A_log", "dt_bias", "e_score_correction_bias"]
OTHER = ["indexed_attention", "indexed_attention"]
SHARED = ["full", "shared"]

FAMILY = Family(
    None,
    to_gguf={
        "glm5_next": Repository(
            {}, glm4_moe, "glm4",
            laid_out=with_tokens(whole(**text(KINDS, INDEXERS, 1, 1)), lambda tokens: shapes(tokens, KINDS, INDEXERS, 1, 1), torch.bfloat16, SINGLE),
        ),
        "glm5_next-plain": Repository(
            {}, glm4_moe, "glm4", types=["f16"],
            laid_out=with_tokens(
                whole(**text(OTHER, SHARED, 1, swiglu_limit=7.0)), lambda tokens: shapes(tokens, OTHER, SHARED, 1)
            ),
        ),
    },
    configs={
        "glm-5.3-flash": dict(
            architectures=["Glm5NextForConditionalGeneration"], model_type="glm5_next",
            text_config=dict(
                model_type="glm5_next_text", first_k_dense_replace=3, mla_use_nope=True, num_nextn_predict_layers=1,
                linear_attn_config=dict(gate_lower_bound=-5.0, head_dim=128, num_heads=64, short_conv_kernel_size=4),
            ),
        ),
    },
)  # fmt: skip
