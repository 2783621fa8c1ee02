"""The language model of Qwen 3 VL."""

from family_blocks import Family, Repository, shape
from family_tokenizers import qwen2
from settings_rows import ACT, EPS, KV, NOTHING, Cases, rope, theta

import transformers

SECTIONS = dict(rope_type="default", rope_theta=5000000.0, mrope_interleaved=True, mrope_section=[2, 1, 1])
VISION = dict(
    depth=2, hidden_size=16, intermediate_size=16, num_heads=2, patch_size=4, out_hidden_size=16, num_position_embeddings=4,
    deepstack_visual_indexes=[0, 1],
)  # fmt: skip
# Of heads of 16.
SPLIT = dict(mrope_interleaved=True, mrope_section=[3, 3, 2])


def with_vision(tied, **more):
    def model(text):
        whole = transformers.Qwen3VLConfig(text_config=text, vision_config=dict(VISION, **more), tie_word_embeddings=tied)
        return transformers.Qwen3VLForConditionalGeneration(whole)

    return model


FAMILY = Family(
    with_vision(False),
    to_gguf={
        "qwen3_vl": Repository(dict(head_dim=8, num_hidden_layers=2, rope_parameters=SECTIONS), qwen2, "qwen2"),
        "qwen3_vl-tied": Repository(
            dict(head_dim=12, rope_parameters=SECTIONS), qwen2, "qwen2", types=["f32"], model=with_vision(True, deepstack_visual_indexes=[])
        ),
    },
    configs={
        "qwen3-vl-4b": dict(
            architectures=["Qwen3VLForConditionalGeneration"], model_type="qwen3_vl", tie_word_embeddings=True,
            text_config=dict(
                shape(2560, 9728, 36, 32, 8, 151936, 262144), model_type="qwen3_vl_text", attention_bias=False, head_dim=128, rms_norm_eps=1e-6,
                rope_scaling=dict(mrope_interleaved=True, mrope_section=[24, 20, 20], rope_type="default"), rope_theta=5000000,
            ),
            vision_config=dict(depth=24, deepstack_visual_indexes=[5, 11, 17], hidden_size=1024, model_type="qwen3_vl"),
        ),
        "qwen3-vl-unsaid": dict(
            architectures=["Qwen3VLForConditionalGeneration"], model_type="qwen3_vl",
            text_config=dict(model_type="qwen3_vl_text", rope_scaling=dict(mrope_section=[24, 20, 20], rope_type="default")),
        ),
    },
    settings={
        "qwen3_vl": Cases(
            "qwen3_vl", dict(head_dim=16, **rope(**SPLIT)), [*theta(500.0, **SPLIT), *ACT, *EPS, *KV, *NOTHING]
        ),
    },
)  # fmt: skip
