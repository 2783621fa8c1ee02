"""Gemma 3n, alone and with encoders."""

from family_blocks import Family, Repository, edited
from family_tokenizers import google
from settings_rows import WINDOW, Cases, kinds

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


def published(tensors, generator):
    """Keys and values of every layer, as repositories have them: the class leaves out those that are shared."""
    for name in [name for name in tensors if ".layers.19.self_attn." in name]:
        for layer in range(20, 30):
            tensors.setdefault(name.replace(".19.", f".{layer}."), tensors[name].clone())


FAMILY = Family(
    alone(8),
    to_gguf={
        "gemma3n": Repository(TEXT, google, None),
        "gemma3n-whole": Repository(
            dict(TEXT, num_hidden_layers=2, layer_types=[S, F], intermediate_size=[24, 40], num_kv_shared_layers=0, activation_sparsity_pattern=[0.5, 0.9], final_logit_softcapping=0.0),
            google, None, types=["f32"], model=alone(0),
        ),
    },
    settings={
        "gemma3n": Cases(
            "gemma3n-whole",
            # llama.cpp takes for granted how many layers are sparse, how many have keys, and which have windows.
            dict(
                num_hidden_layers=30, layer_types=kinds("ssssf" * 6), head_dim=16, sliding_window=WINDOW, hidden_size_per_layer_input=256,
                laurel_rank=64, num_kv_shared_layers=10, activation_sparsity_pattern=[0.95] * 10 + [0.0] * 20,
            ),
            [],
            steps=[edited(published)],
        ),
    },
)  # fmt: skip
