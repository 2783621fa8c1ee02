"""MiniCPM 1, 2 and 4."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import meta

CONFIG = dict(
    architectures=["MiniCPMForCausalLM"], model_type="minicpm", dim_model_base=4, hidden_act="silu", hidden_size=16, intermediate_size=24,
    max_position_embeddings=64, num_attention_heads=4, num_hidden_layers=2, num_key_value_heads=2, rms_norm_eps=1e-5, scale_depth=1.4,
    scale_emb=12, bos_token_id=1, eos_token_id=2,
)  # fmt: skip
LONG = dict(rope_type="longrope", long_factor=[1.0, 1.7], short_factor=[1.0, 1.05], original_max_position_embeddings=64)
PUBLISHED = dict(
    architectures=["MiniCPMForCausalLM"], model_type="minicpm", hidden_act="silu", initializer_range=0.1, rms_norm_eps=1e-5, scale_depth=1.4,
    scale_emb=12, use_cache=True, bos_token_id=1, eos_token_id=2,
)  # fmt: skip
FACTORS = [1.0 + 0.3 * i for i in range(32)]


def shapes(tokens, keys=2, head=False):
    of = lambda name, _: layouts.attention(name, 4, keys, 4) | layouts.mlp(f"{name}.mlp", 24) | layouts.norms(name)  # noqa: E731
    return layouts.trunk(tokens, head=head) | layouts.layers(2, of)


FAMILY = Family(
    None,
    to_gguf={
        "minicpm": Repository({}, meta, None, types=["bf16"], laid_out=layouts.laid_out(CONFIG, shapes)),
        # With a head, scales that are no whole numbers, and rotary factors, which become tensors.
        "minicpm-long": Repository(
            {}, meta, None, types=["f32"],
            laid_out=layouts.laid_out(
                dict(CONFIG, num_key_value_heads=4, scale_emb=1.5, scale_depth=1, dim_model_base=5, rope_scaling=LONG, rope_theta=500000.0),
                lambda tokens: shapes(tokens, 4, True), torch.float16,
            ),
        ),
    },
    configs={
        "minicpm-2b": dict(
            PUBLISHED, dim_model_base=256, hidden_size=2304, intermediate_size=5760, max_position_embeddings=4096, num_attention_heads=36,
            num_hidden_layers=40, num_key_value_heads=36, rope_scaling=None, torch_dtype="bfloat16", vocab_size=122753,
        ),
        "minicpm4-0.5b": dict(
            PUBLISHED, dim_model_base=256, hidden_size=1024, intermediate_size=4096, max_position_embeddings=32768, mup_denominator=32,
            num_attention_heads=16, num_hidden_layers=24, num_key_value_heads=2, pad_token_id=2, tie_word_embeddings=True, vocab_size=73448,
            rope_scaling=dict(rope_type="longrope", long_factor=FACTORS, short_factor=FACTORS, original_max_position_embeddings=32768),
        ),
    },
)  # fmt: skip
