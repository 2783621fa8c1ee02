"""The language models of GLM 4.1V, 4.5V and OCR, and of others that are near them."""

from family_blocks import DENSE_FIRST, LINEAR, Family, Repository, change, edited, numbers
from family_tokenizers import meta, plain_bpe, qwen35
from families.glm4 import glm4
from families.glm4_moe import glm4_moe
from gguf_vocabularies import LLAMA3, byte_level, split
from settings_rows import NOTHING, ROUTED, Cases, rope, row, theta

import transformers

VISION = dict(depth=1, hidden_size=8, intermediate_size=8, out_hidden_size=32, num_heads=2, patch_size=4, image_size=8)
SECTIONS = dict(rope_type="default", rope_theta=10000.0, mrope_section=[1, 1, 1])
# Of heads of 16.
HALF = dict(partial_rotary_factor=0.5, mrope_section=[2, 1, 1])


def around(kind):
    def model(text):
        config = getattr(transformers, f"{kind}Config")
        return getattr(transformers, f"{kind}ForConditionalGeneration")(config(text_config=text, vision_config=VISION, tie_word_embeddings=False))

    return model


def next_layer(tensors, generator):
    """Adds a layer like the last one that predicts one more token, which transformers does not build."""
    start = "model.language_model.layers."
    for name in [name for name in tensors if name.startswith(f"{start}1.")]:
        tensors[name.replace(f"{start}1.", f"{start}2.")] = numbers(tensors[name].shape, generator).bfloat16()
    shapes = {"eh_proj": [32, 64], "enorm": [32], "hnorm": [32], "shared_head.norm": [32]}
    for part, shape in shapes.items():
        tensors[f"{start}2.{part}.weight"] = numbers(shape, generator).bfloat16()


def says_next(folder):
    change(folder, lambda config: dict(config, text_config=dict(config["text_config"], num_nextn_predict_layers=1)))


def minicpm(text):
    vision = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4)
    whole = transformers.MiniCPMV4_6Config(text_config=dict(text, model_type="qwen3_5_text"), vision_config=vision, insert_layer_id=0)
    return transformers.MiniCPMV4_6ForConditionalGeneration(whole)


def paddle(text):
    vision = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2, image_size=8, patch_size=4)
    return transformers.PaddleOCRVLForConditionalGeneration(transformers.PaddleOCRVLConfig(text_config=text, vision_config=vision))


solar = plain_bpe([split(LLAMA3), byte_level()], "PreTrainedTokenizerFast", "<|startoftext|>", "<|endoftext|>", "<unk>")
MIXED = {key: value for key, value in DENSE_FIRST.items() if key != "first_k_dense_replace"}

FAMILY = Family(
    None,
    to_gguf={
        "glm4v": Repository(dict(hidden_size=32, attention_bias=True, rope_parameters=dict(SECTIONS, partial_rotary_factor=0.5)), glm4, "glm4", model=around("Glm4v")),
        "glm4v-whole": Repository(dict(hidden_size=32, rope_parameters=dict(SECTIONS, partial_rotary_factor=1.0)), glm4, "glm4", types=["f32"], model=around("Glm4v")),
        "glm_ocr": Repository(
            dict(num_hidden_layers=2, hidden_size=32, rope_parameters=dict(SECTIONS, partial_rotary_factor=0.5)), glm4, "glm4", model=around("GlmOcr"),
            steps=[edited(next_layer), says_next],
        ),
        "glm4v_moe": Repository(dict(DENSE_FIRST, hidden_size=32, rope_parameters=dict(SECTIONS, partial_rotary_factor=0.5)), glm4_moe, "glm4", model=around("Glm4vMoe")),
        "solar_open": Repository(dict(MIXED, head_dim=8), solar, "dbrx", model="SolarOpen"),
        "minicpmv4_6": Repository(dict(LINEAR, mtp_num_hidden_layers=0), qwen35, "qwen35", model=minicpm, without_next=True),
        "paddleocr": Repository(dict(head_dim=8, num_hidden_layers=2, rope_parameters=dict(SECTIONS, mrope_section=[2, 1, 1])), meta, None, model=paddle),
    },
    settings={
        "glm4v": Cases("glm4v", rope(**HALF), [*theta(500.0, **HALF), *NOTHING]),
        "glm4v_moe": Cases("glm4v_moe", dict(ROUTED, head_dim=16, **rope(**HALF)), NOTHING),
        "glm_ocr": Cases("glm_ocr", dict(head_dim=16, **rope(**HALF)), NOTHING, steps=[]),
        "solar_open": Cases("solar_open", dict(MIXED, head_dim=16, n_routed_experts=8, moe_intermediate_size=24, **rope(partial_rotary_factor=1.0)), [row("partial_rotary_factor", "not stated", **rope()), *NOTHING]),
        "paddleocr": Cases("paddleocr", dict(head_dim=16, **rope(mrope_section=[4, 2, 2])), NOTHING),
    },
)  # fmt: skip
