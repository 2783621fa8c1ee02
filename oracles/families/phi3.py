"""Phi 3, 3.5 and 4."""

import gguf_vocabularies as vocabularies
from family_blocks import Family, Repository, Tiny, config
from family_tokenizers import meta

# Factors for each rotary frequency, which the converter writes as two tensors.
ROPE = dict(rope_type="longrope", rope_theta=10000.0, original_max_position_embeddings=32)
SHORT = [1.0 + 0.02 * i for i in range(48)]
LONG = [1.0 + 1.3 * i for i in range(48)]


def phi3(folder):
    ids = meta(folder)
    # Added in a file of their own, and a piece more than there are tokens: some ids belong to nobody.
    vocabularies.write_json(folder, "added_tokens.json", {"<|endoftext|>": 296, "<|assistant|>": 297}, indent=2)
    return ids


FAMILY = Family(
    "Phi3",
    names={
        "phi3": Tiny(dict(rope_parameters=dict(ROPE, short_factor=[1.0, 1.25, 1.5], long_factor=[1.0, 2.0, 4.0]))),
    },
    to_gguf={
        "phi3": Repository(
            dict(rope_parameters=dict(ROPE, long_factor=[1.0, 1.7], short_factor=[1.0, 1.05]), original_max_position_embeddings=32), phi3, None
        ),
    },
    configs={
        "phi-3-mini": config(
            "Phi3ForCausalLM", "phi3", 3072, 8192, 32, 32, 32, 32064, 4096,
            original_max_position_embeddings=4096, rms_norm_eps=1e-5, rope_scaling=None, rope_theta=10000.0, sliding_window=2047,
        ),
        "phi-3.5-mini": config(
            "Phi3ForCausalLM", "phi3", 3072, 8192, 32, 32, 32, 32064, 131072,
            original_max_position_embeddings=4096,
            rope_scaling=dict(long_factor=LONG, short_factor=SHORT, type="longrope"),
            rope_theta=10000.0,
            sliding_window=262144,
        ),
        "phi-4": config(
            "Phi3ForCausalLM", "phi3", 5120, 17920, 40, 40, 10, 100352, 16384,
            original_max_position_embeddings=16384, rope_scaling=None, rope_theta=250000, sliding_window=None,
        ),
        "phi-4-mini": config(
            "Phi3ForCausalLM", "phi3", 3072, 8192, 32, 24, 8, 200064, 131072,
            original_max_position_embeddings=4096,
            partial_rotary_factor=0.75,
            rope_scaling=dict(long_factor=LONG, short_factor=SHORT, type="longrope"),
            rope_theta=10000.0,
            sliding_window=262144,
        ),
        "phi3-bare": dict(architectures=["Phi3ForCausalLM"], model_type="phi3"),
    },
    warned={"phi-3-mini": ["sliding_window"]},
)
