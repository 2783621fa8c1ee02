"""ChatGLM 3 and 4, by the names of their own code."""

import family_layouts as layouts
import torch
from families.glm4 import glm4
from family_blocks import Family, Repository

CONFIG = dict(
    architectures=["ChatGLMModel"], model_type="chatglm", add_bias_linear=False, add_qkv_bias=True, apply_query_key_layer_scaling=True,
    apply_residual_connection_post_layernorm=False, attention_dropout=0.0, attention_softmax_in_fp32=True, attn_implementation="eager",
    bias_dropout_fusion=True, ffn_hidden_size=24, fp32_residual_connection=False, hidden_dropout=0.0, hidden_size=16, kv_channels=4,
    layernorm_epsilon=1.5625e-7, multi_query_attention=True, multi_query_group_num=2, num_attention_heads=4, num_hidden_layers=2, num_layers=2,
    original_rope=True, post_layer_norm=True, rmsnorm=True, rope_ratio=500, seq_length=64, tie_word_embeddings=False, use_cache=True,
)  # fmt: skip


def shapes(tokens, count=2, keys=2, bias=True):
    found = {
        "transformer.embedding.word_embeddings.weight": [tokens, 16], "transformer.encoder.final_layernorm.weight": [16],
        "transformer.output_layer.weight": [tokens, 16], "transformer.rotary_pos_emb.inv_freq": [1],
    }  # fmt: skip
    for layer in range(count):
        modules = {
            "input_layernorm": [16], "self_attention.query_key_value": [16 + 8 * keys, 16], "self_attention.dense": [16, 16],
            "post_attention_layernorm": [16], "mlp.dense_h_to_4h": [48, 16], "mlp.dense_4h_to_h": [16, 24],
        }  # fmt: skip
        name = f"transformer.encoder.layers.{layer}"
        found |= layouts.inside(name, modules)
        found |= {f"{name}.self_attention.query_key_value.bias": [16 + 8 * keys]} if bias else {}
    return found


FAMILY = Family(
    None,
    to_gguf={
        "chatglm": Repository({}, glm4, "chatglm-bpe", types=["f32", "bf16"], laid_out=layouts.laid_out(CONFIG, shapes)),
        "chatglm-plain": Repository(
            {}, glm4, "chatglm-bpe", types=["f16"],
            laid_out=layouts.laid_out(
                dict(
                    {key: value for key, value in CONFIG.items() if key not in ("rope_ratio", "seq_length")},
                    architectures=["ChatGLMForConditionalGeneration"], add_qkv_bias=False, multi_query_group_num=1, num_hidden_layers=1, num_layers=1,
                ),
                lambda tokens: shapes(tokens, 1, 1, False), torch.float16,
            ),
        ),
    },
    configs={
        "glm-4-9b-chat": dict(
            CONFIG, ffn_hidden_size=13696, hidden_size=4096, kv_channels=128, num_attention_heads=32, num_hidden_layers=40, num_layers=40,
            padded_vocab_size=151552, vocab_size=151552, seq_length=131072, eos_token_id=[151329, 151336, 151338], pad_token_id=151329,
        ),
    },
)  # fmt: skip
