"""EXAONE 4.5: the encoder of Qwen 2.5-VL, with key heads that several query heads share."""

import transformers
from family_tokenizers import qwen2
from projector_blocks import CLIP_COLOURS, TEXT, Golden, with_part

VISION = dict(depth=4, hidden_size=8, intermediate_size=12, out_hidden_size=16, num_heads=2, num_key_value_heads=1, patch_size=4)
VISION.update(fullatt_block_indexes=[1, 3], window_size=16)
PIXELS = dict(CLIP_COLOURS, min_pixels=3136, max_pixels=12845056)


def model(vision):
    def make(settings):
        config = transformers.Exaone4_5_Config(text_config=dict(TEXT, model_type="exaone4", **settings), vision_config=vision)
        return transformers.Exaone4_5_ForConditionalGeneration(config)

    return make


GOLDENS = {
    "exaone4_5": Golden(model(VISION), qwen2, PIXELS),
    "exaone4_5-whole": Golden(
        model(dict(VISION, depth=3, fullatt_block_indexes=[0, 1, 2])), qwen2, PIXELS, types=["bf16"], steps=[with_part("vision_config", rms_norm_eps=1e-5)]
    ),
}
