"""The language model of HunyuanOCR and Hunyuan VL."""

from families.hunyuan_dense import hunyuan
from family_blocks import Family, Repository

import transformers

SECTIONS = dict(rope_type="dynamic", rope_theta=10000.0, alpha=1000.0, factor=1.0, mrope_section=[1, 1, 1, 1])
VISION = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, patch_size=4, max_image_size=8, out_hidden_size=16)


def with_vision(tied):
    def model(text):
        whole = transformers.HunYuanVLConfig(text_config=text, vision_config=VISION, tie_word_embeddings=tied)
        return transformers.HunYuanVLForConditionalGeneration(whole)

    return model


FAMILY = Family(
    with_vision(True),
    to_gguf={
        "hunyuan_vl": Repository(dict(head_dim=8, num_hidden_layers=2, rope_parameters=SECTIONS), hunyuan, "hunyuan-dense"),
        "hunyuan_vl-head": Repository(
            dict(head_dim=4, tie_word_embeddings=False, rope_parameters=dict(SECTIONS, alpha=50.0, mrope_section=[1, 1, 0, 0])), hunyuan,
            "hunyuan-dense", types=["f32"], model=with_vision(False),
        ),
    },
)  # fmt: skip
