"""Llama 4: patches that are shuffled, with a class token behind them."""

import transformers
from family_tokenizers import llama3
from projector_blocks import HALVES, TEXT, Golden

VISION = dict(hidden_size=8, num_hidden_layers=3, num_attention_heads=2, num_channels=3, intermediate_size=32, vision_output_dim=16)
VISION.update(image_size=16, patch_size=4, projector_input_dim=16, projector_output_dim=16)


def model(vision):
    def make(settings):
        text = dict(TEXT, intermediate_size_mlp=16, num_local_experts=2, num_experts_per_tok=1, **settings)
        config = transformers.Llama4Config(text_config=text, vision_config=dict(VISION, **vision), image_token_index=5)
        return transformers.Llama4ForConditionalGeneration(config)

    return make


def before_the_feed_forward(kind):
    """The converter's table has the second norm of a layer twice, and takes the place that Gemma 4 has it in, where
    llama.cpp does not look for it."""
    mapped = kind.map_tensor_name
    kind.map_tensor_name = lambda self, *given: mapped(self, *given).replace(".attn_post_norm.", ".ln2.")


GOLDENS = {
    "llama4": Golden(model({}), llama3, HALVES, mend=before_the_feed_forward),
    "llama4-quarter": Golden(
        model(dict(pixel_shuffle_ratio=0.25, norm_eps=1e-6, intermediate_size=128)),
        llama3,
        HALVES,
        types=["bf16"],
        mend=before_the_feed_forward,
    ),
}
