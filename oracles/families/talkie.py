"""Talkie, which transformers does not know; laid out after what the converter maps."""

import family_layouts as layouts
from family_blocks import Family, Repository
from family_tokenizers import plain_bpe
from gguf_vocabularies import GPT_4O, byte_level, split

talkie = plain_bpe([split(GPT_4O), byte_level()], "PreTrainedTokenizerFast", "<|endoftext|>", "<|end|>")
CONFIG = dict(
    architectures=["TalkieForCausalLM"], model_type="talkie", head_dim=4, hidden_act="silu", hidden_size=16, intermediate_size=24,
    max_position_embeddings=64, num_attention_heads=4, num_hidden_layers=2, num_key_value_heads=4, rope_theta=1000000.0, tie_word_embeddings=False,
    torch_dtype="bfloat16",
)  # fmt: skip


def layer(name, heads, head, width, inner):
    made = heads * head
    found = layouts.inside(f"{name}.attn", dict(attn_query=[made, width], attn_key=[made, width], attn_value=[made, width], attn_resid=[width, made]))
    found |= layouts.inside(f"{name}.mlp", dict(mlp_gate=[inner, width], mlp_linear=[inner, width], mlp_resid=[width, inner]))
    gains = {"attn.head_gain.head_g": [heads], "attn_gain.a_g": [1], "mlp_gain.a_g": [1], "embed_skip.a_g": [1]}
    return found | layouts.inside(name, gains, "")


def shapes(tokens, count=2, heads=4, head=4, inner=24):
    width = heads * head
    found = {"model.embed.weight": [tokens, width], "lm_head": [tokens, width], "lm_head_gain.w_g": [1]}
    for number in range(count):
        found |= layer(f"model.blocks.{number}", heads, head, width, inner)
    return found


OTHER = dict(head_dim=8, hidden_size=24, num_attention_heads=3, num_key_value_heads=3, intermediate_size=40, num_hidden_layers=1)
FAMILY = Family(
    None,
    to_gguf={
        "talkie": Repository({}, talkie, "gpt-4o", laid_out=layouts.laid_out(CONFIG, shapes)),
        "talkie-wide": Repository(
            {}, talkie, "gpt-4o", types=["f32"],
            laid_out=layouts.laid_out(CONFIG | OTHER, lambda tokens: shapes(tokens, 1, 3, 8, 40)),
        ),
    },
)  # fmt: skip
