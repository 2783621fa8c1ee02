"""Gemma 4 without encoders."""

from families.gemma4 import DENSE, ROPE, F, S, gemma4
from family_blocks import Family, Repository, change

import transformers

VISION = dict(patch_size=4, mm_embed_dim=8, num_soft_tokens=4)


def unified(text):
    whole = transformers.Gemma4UnifiedConfig(text_config=text)
    return transformers.Gemma4UnifiedForConditionalGeneration(whole)


def without_experts(folder):
    """Says what the converter asks for."""
    change(folder, lambda config: dict(config, text_config=dict(config["text_config"], moe_intermediate_size=None)))


TEXT = {key: value for key, value in DENSE.items() if key != "hidden_size_per_layer_input"}

FAMILY = Family(
    unified,
    to_gguf={
        "gemma4_unified": Repository(
            dict(TEXT, num_kv_shared_layers=0, use_double_wide_mlp=False), gemma4, None, spare=0, steps=[without_experts],
            sampling=dict(suppress_tokens=[5, 7]),
        ),
        "gemma4_unified-shared": Repository(
            dict(TEXT, layer_types=[S, S, F], attention_k_eq_v=True, num_global_key_value_heads=1, rope_parameters=ROPE), gemma4, None,
            types=["f32"], spare=0, steps=[without_experts],
        ),
    },
)  # fmt: skip
