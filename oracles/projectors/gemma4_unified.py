"""Gemma 4 without encoders of its own: patches and sound go to the language model almost as they are."""

import transformers
from family_tokenizers import google
from projector_blocks import HALVES, TEXT, Golden

TEXT = dict(TEXT, num_hidden_layers=2, global_head_dim=8, layer_types=["sliding_attention", "full_attention"])
VISION = dict(patch_size=2, pooling_kernel_size=2, mm_embed_dim=16, mm_posemb_size=6, output_proj_dims=16)


def model(vision):
    def make(settings):
        parts = dict(text_config=dict(TEXT, **settings), vision_config=vision, audio_config=dict(audio_embed_dim=12))
        return transformers.Gemma4UnifiedForConditionalGeneration(transformers.Gemma4UnifiedConfig(**parts))

    return make


GOLDENS = {
    "gemma4_unified": Golden(model(VISION), google, HALVES),
    "gemma4_unified-three": Golden(model(dict(VISION, pooling_kernel_size=3)), google, HALVES, dtype="float32", types=["bf16"]),
}
