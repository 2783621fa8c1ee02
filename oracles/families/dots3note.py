"""dots3-note, which transformers does not know; laid out after what the converter maps."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import plain_bpe
from gguf_vocabularies import LLAMA3, byte_level, split

dots = plain_bpe([split(LLAMA3), byte_level()], "PreTrainedTokenizerFast", "<|endoftext|>", "<|endofassistant|>")
FULL = dict(num_attention_heads=4, kv_lora_rank=10, qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=8)
WINDOW = dict(num_attention_heads=2, kv_lora_rank=12, qk_nope_head_dim=4, qk_rope_head_dim=4, v_head_dim=6)


def config(kinds, full=FULL, window=WINDOW, **more):
    window = {f"swa_{key}": value for key, value in window.items()}
    head = window["swa_qk_nope_head_dim"] + window["swa_qk_rope_head_dim"]
    said = dict(
        full, **window, architectures=["Dots3NoteForCausalLM"], model_type="dots3_note", apply_mla_qkv_lora_rescale=True, attention_bias=False,
        attention_gate_type="headwise", first_k_dense_replace=1, head_dim=16, hidden_act="silu", hidden_size=16, index_head_dim=8, index_n_heads=2,
        index_topk=4, intermediate_size=24, k_rope_only_layernorm=True, layer_types=kinds, max_position_embeddings=64, moe_intermediate_size=8,
        n_group=1, n_routed_experts=3, n_shared_experts=1, norm_topk_prob=True, normalization="RMSNorm", num_experts_per_tok=2,
        num_hidden_layers=len(kinds), num_key_value_heads=4, q_lora_rank=12, rms_norm_eps=1e-6, rope_theta=10000000.0, routed_scaling_factor=2.5,
        scoring_func="sigmoid", sliding_window_size=16, swa_attention_gate_type="headwise", swa_head_dim=head, swa_q_lora_rank=12,
        swa_rope_theta=10000.0, tie_word_embeddings=False, topk_group=1, topk_method="noaux_tc", use_dsa=True,
    )  # fmt: skip
    return said | more


def attention(name, sizes):
    heads, rotated = sizes["num_attention_heads"], sizes["qk_rope_head_dim"]
    found = layouts.latent(name, heads, sizes["qk_nope_head_dim"], rotated, sizes["v_head_dim"], sizes["kv_lora_rank"], 12)
    return found | layouts.inside(f"{name}.self_attn", dict(k_rope_only_layernorm=[rotated], g_proj=[heads, 16])) | layouts.norms(name)


def layer(name, kind, dense, full, window):
    found = attention(name, window if kind == "sliding_attention" else full)
    if kind != "sliding_attention":
        found |= layouts.inside(f"{name}.self_attn.indexer", dict(wq_b=[16, 12], wk=[8, 16], k_norm=[8], weights_proj=[2, 16]))
        found[f"{name}.self_attn.indexer.k_norm.bias"] = [8]
    if dense:
        return found | layouts.mlp(f"{name}.mlp", 24)
    return found | layouts.experts(name, 3, 8, 8) | {f"{name}.mlp.gate.e_score_correction_bias": [3]}


def shapes(tokens, kinds, next=False, full=FULL, window=WINDOW, dense=1):
    found = layouts.trunk(tokens) | layouts.layers(len(kinds), lambda name, number: layer(name, kinds[number], number < dense, full, window))
    if next:
        last = f"model.layers.{len(kinds)}"
        found |= layer(last, "sliding_attention", True, full, window) | layouts.inside(last, dict(eh_proj=[16, 32], enorm=[16], hnorm=[16]))
        found |= {f"{last}.shared_head.norm.weight": [16], "model.mtp.embed_tokens.weight": [tokens, 16]}
    return found | {"vision_encoder.patch_embed.norm.weight": [16], "audio_encoder.audio_adapter.proj.0.weight": [16]}


KINDS = ["full_attention", "sliding_attention", "full_attention"]
OTHER = ["sliding_attention", "full_attention"]
WIDE = dict(WINDOW, num_attention_heads=8, kv_lora_rank=6)

FAMILY = Family(
    None,
    to_gguf={
        "dots3note": Repository({}, dots, "dbrx", laid_out=layouts.laid_out(config(KINDS), lambda tokens: shapes(tokens, KINDS, True))),
        "dots3note-wide": Repository(
            {}, dots, "dbrx", types=["f32"],
            laid_out=layouts.laid_out(
                config(OTHER, window=WIDE, apply_mla_qkv_lora_rescale=False, first_k_dense_replace=0),
                lambda tokens: shapes(tokens, OTHER, window=WIDE, dense=0), torch.float16,
            ),
        ),
    },
)  # fmt: skip
