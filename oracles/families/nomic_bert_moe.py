"""Nomic's encoders with experts, as published: transformers does not know them."""

import family_layouts as layouts
import torch
from families.nomic_bert import CONFIG
from family_blocks import Family, Repository
from family_tokenizers import by_flag, pooled, unigram

EXPERTS = dict(
    CONFIG, activation_function="gelu", layer_norm_epsilon=1e-5, mlp_fc1_bias=True, mlp_fc2_bias=True, moe_every_n_layers=2, moe_impl="megablocks",
    moe_normalize_expert_weights=False, moe_resid_pdrop=0.0, moe_top_k=2, n_positions=2048, num_experts=3, num_shared_experts=0, pad_token_id=1,
    qkv_proj_bias=True, rotary_emb_base=10000, type_vocab_size=1, expert_choice_router=False, ffn_div=1, router_aux_loss_coef=0.1,
)  # fmt: skip


def shapes(tokens, layers=2, experts=3):
    found = {"embeddings.word_embeddings.weight": [tokens, 16], "embeddings.token_type_embeddings.weight": [1, 16]}
    found |= {"emb_ln.weight": [16], "emb_ln.bias": [16]}
    for layer in range(layers):
        name = f"encoder.layers.{layer}"
        modules = {"attn.Wqkv": [48, 16], "attn.out_proj": [16, 16], "norm1": [16], "norm2": [16]}
        if layer % 2:
            found |= {f"{name}.mlp.router.layer.weight": [experts, 16], f"{name}.mlp.experts.bias": [16]}
            found |= {f"{name}.mlp.experts.mlp.{part}": [experts * 24, 16] for part in ("w1", "w2")}
        else:
            modules |= {"mlp.fc1": [24, 16], "mlp.fc2": [16, 24]}
        for module, shape in modules.items():
            found |= {f"{name}.{module}.weight": shape, f"{name}.{module}.bias": shape[:1]}
    return found


FAMILY = Family(
    None,
    to_gguf={
        "nomic_bert_moe": Repository(
            {}, pooled(unigram(False), **by_flag("mean_tokens")), None, types=["f32", "f16"],
            laid_out=layouts.laid_out(EXPERTS, shapes, torch.float32),
        ),
        "nomic_bert_moe-more": Repository(
            {}, unigram(False), None,
            laid_out=layouts.laid_out(dict(EXPERTS, num_experts=4, n_layer=4, moe_top_k=1), lambda tokens: shapes(tokens, 4, 4)),
        ),
    },
)  # fmt: skip
