"""Gemma 3n, alone and with encoders."""

from family_blocks import Family, Repository
from family_tokenizers import google

import transformers

S, F = "sliding_attention", "full_attention"
TEXT = dict(
    num_hidden_layers=3, layer_types=[S, F, F], head_dim=4, sliding_window=16, hidden_size_per_layer_input=4, laurel_rank=6,
    num_kv_shared_layers=1, activation_sparsity_pattern=[0.95, 0.0, 0.0],
)  # fmt: skip


def alone(fewer):
    """The embeddings for each layer may have fewer tokens than the others."""

    def model(text):
        said = dict(text, vocab_size_per_layer_input=text["vocab_size"] - fewer)
        return transformers.Gemma3nForCausalLM(transformers.Gemma3nTextConfig(**said))

    return model


FAMILY = Family(
    alone(8),
    to_gguf={
        "gemma3n": Repository(TEXT, google, None),
        "gemma3n-whole": Repository(
            dict(TEXT, num_hidden_layers=2, layer_types=[S, F], intermediate_size=[24, 40], num_kv_shared_layers=0, activation_sparsity_pattern=[0.5, 0.9], final_logit_softcapping=0.0),
            google, None, types=["f32"], model=alone(0),
        ),
    },
)  # fmt: skip
