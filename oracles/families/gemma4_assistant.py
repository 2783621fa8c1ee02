"""Gemma 4's assistant."""

from families.gemma4 import ROPE, F, S, gemma4
from family_blocks import Family, Repository

import transformers

TEXT = dict(
    model_type="gemma4_text", num_hidden_layers=2, layer_types=[S, F], head_dim=4, global_head_dim=8, sliding_window=16,
    hidden_size_per_layer_input=0, vocab_size_per_layer_input=0, rope_parameters=ROPE,
)  # fmt: skip


def assistant(**more):
    def model(text):
        return transformers.Gemma4AssistantForCausalLM(transformers.Gemma4AssistantConfig(text_config=text, backbone_hidden_size=24, **more))

    return model


FAMILY = Family(
    assistant(),
    to_gguf={
        "gemma4_assistant": Repository(TEXT, gemma4, None, spare=0),
        "gemma4_assistant-ordered": Repository(
            dict(TEXT, attention_k_eq_v=True, num_global_key_value_heads=1), gemma4, None, types=["f32"], spare=0,
            model=assistant(use_ordered_embeddings=True, num_centroids=4, centroid_intermediate_top_k=2),
        ),
    },
)  # fmt: skip
