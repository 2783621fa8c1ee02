"""The language model of Qwen 3 Omni."""

from families.qwen3_asr import SOUND, listed
from families.qwen3_vl import SECTIONS
from families.qwen3_vl_moe import VISION
from family_blocks import Family, Repository, experts

import transformers


def omni(text):
    thinker = dict(text_config=text, vision_config=VISION, audio_config=SOUND)
    whole = transformers.Qwen3OmniMoeConfig(thinker_config=thinker, enable_audio_output=False)
    return transformers.Qwen3OmniMoeForConditionalGeneration(whole)


FAMILY = Family(
    omni,
    to_gguf={
        "qwen3_omni_moe": Repository(dict(experts(3, 8), rope_parameters=dict(SECTIONS, mrope_section=[1, 1, 0])), listed, "qwen2"),
    },
)  # fmt: skip
