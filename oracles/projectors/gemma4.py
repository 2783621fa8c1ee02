"""Gemma 4: images and sound, with linear layers that clip or not; and images alone."""

import transformers
from family_tokenizers import google
from projector_blocks import HALVES, TEXT, Golden, with_buffers

TEXT = dict(TEXT, num_hidden_layers=2, hidden_size_per_layer_input=4, vocab_size_per_layer_input=8, global_head_dim=8)
TEXT.update(layer_types=["sliding_attention", "full_attention"])
VISION = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, head_dim=8)
VISION.update(patch_size=2, position_embedding_size=6, pooling_kernel_size=2)
AUDIO = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, output_proj_dims=16, subsampling_conv_channels=[4, 2])


def gemma4(vision, audio):
    def make(settings):
        config = transformers.Gemma4Config(text_config=dict(TEXT, **settings), vision_config=vision, audio_config=audio)
        return transformers.Gemma4ForConditionalGeneration(config)

    return make


GOLDENS = {
    "gemma4": Golden(gemma4(VISION, AUDIO), google, HALVES, steps=[with_buffers]),
    "gemma4-images": Golden(gemma4(dict(VISION, use_clipped_linears=True, standardize=True), None), google, HALVES, types=["bf16"], steps=[with_buffers]),
}
