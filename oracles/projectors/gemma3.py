"""Gemma 3: SigLIP, as published and as a test model with another factor."""

import transformers
from family_tokenizers import google
from projector_blocks import HALVES, TEXT, Golden, published_siglip

VISION = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2)


def model(image, patch):
    def make(settings):
        text = dict(TEXT, **settings)
        vision = dict(VISION, image_size=image, patch_size=patch, vision_use_head=False)
        config = transformers.Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4)
        return transformers.Gemma3ForConditionalGeneration(config)

    return make


GOLDENS = {
    "gemma3": Golden(model(16, 2), google, dict(HALVES, image_seq_length=4), steps=[published_siglip]),
    "gemma3-scaled": Golden(model(12, 2), google, dict(HALVES, image_seq_length=4), dtype="float32", types=["bf16"], steps=[published_siglip]),
}
