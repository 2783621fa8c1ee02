"""The text model of Youtu-VL, whose vision model has a file of its own."""

import family_layouts as layouts
from family_blocks import Family, Repository
from family_tokenizers import llama3

TEXT = dict(
    architectures=["YoutuVLForConditionalGeneration"], model_type="youtu_vl", attention_bias=False, hidden_act="silu", hidden_size=16,
    intermediate_size=24, kv_lora_rank=10, max_position_embeddings=64, mlp_bias=False, num_attention_heads=4, num_hidden_layers=2,
    num_key_value_heads=4, q_lora_rank=12, qk_nope_head_dim=6, qk_rope_head_dim=4, rms_norm_eps=1e-6, rope_interleave=True,
    rope_theta=1600000, tie_word_embeddings=True, v_head_dim=8,
    vision_config=dict(model_type="siglip2_vision_model", hidden_size=8, num_hidden_layers=1),
)  # fmt: skip


def layer(name, number):
    return layouts.latent(name, 4, 6, 4, 8, 10, 12) | layouts.mlp(f"{name}.mlp", 24) | layouts.norms(name)


def shapes(tokens):
    vision = {"siglip2.vision_model.encoder.layers.0.layer_norm1.weight": [8], "merger.ln_q.weight": [8], "merger.mlp.0.weight": [16, 8]}
    return layouts.trunk(tokens, head=False) | layouts.layers(2, layer) | vision


FAMILY = Family(
    None,
    to_gguf={
        "youtu_vl": Repository({}, llama3, "llama-bpe", types=["bf16"], laid_out=layouts.laid_out(TEXT, shapes)),
        "youtu_vl-head": Repository(
            {}, llama3, "llama-bpe", types=["f32"],
            laid_out=layouts.laid_out(dict(TEXT, tie_word_embeddings=False), lambda tokens: shapes(tokens) | layouts.trunk(tokens)),
        ),
    },
)  # fmt: skip
