"""The text model of Kimi-VL: DeepSeek V3's, below `language_model.`, in a config that transformers does not know."""

import family_layouts as layouts
import torch
from families.kimi_linear import kimi
from family_blocks import Family, Repository

TEXT = dict(
    attention_bias=False, attention_dropout=0.0, aux_loss_alpha=0.001, bos_token_id=288, eos_token_id=289, ep_size=1, first_k_dense_replace=1,
    hidden_act="silu", hidden_size=16, initializer_range=0.02, intermediate_size=24, kv_lora_rank=10, max_position_embeddings=64,
    moe_intermediate_size=8, moe_layer_freq=1, n_group=1, n_routed_experts=3, n_shared_experts=2, norm_topk_prob=True, num_attention_heads=4,
    num_experts_per_tok=2, num_hidden_layers=2, num_key_value_heads=4, pad_token_id=289, pretraining_tp=1, q_lora_rank=None, qk_nope_head_dim=6,
    qk_rope_head_dim=4, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=800000.0, routed_scaling_factor=2.446, scoring_func="sigmoid", seq_aux=True,
    tie_word_embeddings=False, topk_group=1, topk_method="noaux_tc", torch_dtype="bfloat16", use_cache=True, v_head_dim=8,
)  # fmt: skip


def whole(**text):
    return dict(
        architectures=["KimiVLForConditionalGeneration"], model_type="kimi_vl", ignore_index=-100, media_placeholder_token_id=299,
        torch_dtype="bfloat16", text_config=dict(TEXT, **text), vision_config=dict(hidden_size=16, model_type="moonvit"),
    )  # fmt: skip


def layer(name, dense, queries, shared, count=3):
    found = layouts.latent(name, 4, 6, 4, 8, 10, queries) | layouts.norms(name)
    inner = layouts.mlp(f"{name}.mlp", 24) if dense else layouts.experts(name, count, 8, shared)
    return found | inner | ({} if dense else {f"{name}.mlp.gate.e_score_correction_bias": [count]})


def below(found):
    beside = {"vision_tower.patch_embed.proj.weight": [16, 3, 2, 2], "multi_modal_projector.linear_1.weight": [16, 64]}
    return {f"language_model.{name}": shape for name, shape in found.items()} | beside


def shapes(tokens, count=2, queries=None, shared=16):
    return below(layouts.trunk(tokens) | layouts.layers(count, lambda name, number: layer(name, number == 0, queries, shared)))


def with_tokens(said, make, *args):
    """The number of tokens is the text model's."""
    def write(folder, tokens):
        layouts.laid_out(dict(said, text_config=dict(said["text_config"], vocab_size=tokens)), make, *args)(folder, tokens)

    return write


FAMILY = Family(
    None,
    to_gguf={
        "kimi_vl": Repository({}, kimi, "dbrx", laid_out=with_tokens(whole(), shapes)),
        "kimi_vl-queries": Repository(
            {}, kimi, "dbrx", types=["f32"],
            laid_out=with_tokens(whole(num_hidden_layers=3, q_lora_rank=12, n_shared_experts=1), lambda tokens: shapes(tokens, 3, 12, 8), torch.float16),
        ),
    },
)  # fmt: skip
