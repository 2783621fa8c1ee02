"""The text models of DeepSeek-OCR and Unlimited-OCR. transformers knows neither config."""

import family_layouts as layouts
import torch
from families.deepseek_v3 import FAMILY as V3
from family_blocks import Family, Repository

deepseek_v3 = V3.to_gguf["deepseek_v3"].tokenizer
TEXT = dict(
    architectures=["DeepseekV2ForCausalLM"], bos_token_id=288, eos_token_id=289, first_k_dense_replace=1, hidden_size=16, intermediate_size=24,
    kv_lora_rank=None, lm_head=True, max_position_embeddings=64, moe_intermediate_size=8, n_group=1, n_routed_experts=3, n_shared_experts=2,
    num_attention_heads=4, num_experts_per_tok=2, num_hidden_layers=2, num_key_value_heads=4, q_lora_rank=None, qk_nope_head_dim=0,
    qk_rope_head_dim=0, rm_head=False, topk_group=1, topk_method="greedy", torch_dtype="bfloat16", use_mla=False, v_head_dim=0,
)  # fmt: skip


def whole(kind, **text):
    beside = {key: TEXT[key] for key in ("hidden_size", "intermediate_size", "num_hidden_layers", "first_k_dense_replace", "use_mla")}
    return dict(
        beside, architectures=[kind], model_type="deepseek_vl_v2", candidate_resolutions=[[1024, 1024]], global_view_pos="head", tile_tag="2D",
        language_config=dict(TEXT, **text), projector_config=dict(input_dim=16, model_type="mlp_projector", n_embed=16, projector_type="linear"),
        torch_dtype="bfloat16", vision_config=dict(image_size=1024, mlp_ratio=3.7362, model_type="vision"),
    )  # fmt: skip


def layer(name, dense, heads=4, head=4, routed=3, inner=8, shared=16):
    found = layouts.attention(name, heads, heads, head) | layouts.norms(name)
    return found | (layouts.mlp(f"{name}.mlp", 24) if dense else layouts.experts(name, routed, inner, shared))


PICTURES = {
    "model.sam_model.pos_embed": [1, 2, 2, 16],
    "model.vision_model.embeddings.class_embedding": [16],
    "model.projector.layers.weight": [16, 32],
    "model.image_newline": [16],
    "model.view_seperator": [16],
}


def shapes(tokens, count=2, dense=1, **sizes):
    return layouts.trunk(tokens) | layouts.layers(count, lambda name, number: layer(name, number < dense, **sizes)) | PICTURES


def with_tokens(said, make, *args):
    """The number of tokens is the text model's."""

    def write(folder, tokens):
        text = dict(said["language_config"], vocab_size=tokens)
        layouts.laid_out(dict(said, language_config=text), make, *args)(folder, tokens)

    return write


OTHER = dict(
    num_hidden_layers=3, first_k_dense_replace=2, num_attention_heads=2, num_key_value_heads=2, n_routed_experts=4, n_shared_experts=1, rope_theta=50000.0,
    rms_norm_eps=1e-5, sliding_window_size=16, routed_scaling_factor=1.5, norm_topk_prob=True, scoring_func="softmax",
)  # fmt: skip

FAMILY = Family(
    None,
    to_gguf={
        "deepseek_ocr": Repository({}, deepseek_v3, "deepseek-v3", laid_out=with_tokens(whole("DeepseekOCRForCausalLM"), shapes)),
        "deepseek_ocr-window": Repository(
            {}, deepseek_v3, "deepseek-v3", types=["f32"],
            laid_out=with_tokens(
                whole("UnlimitedOCRForCausalLM", **OTHER), lambda tokens: shapes(tokens, 3, 2, heads=2, head=8, routed=4, shared=8), torch.float16
            ),
        ),
    },
)  # fmt: skip
