"""Chameleon."""

from family_blocks import Family, Repository, edited
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level, digits

import transformers

chameleon = plain_bpe(digits(), "PreTrainedTokenizerFast", "<s>", "</s>", "<pad>")
PICTURES = dict(embed_dim=8, num_embeddings=8, latent_channels=8, resolution=8, base_channels=32, channel_multiplier=[1], num_res_blocks=1)


def model(settings):
    config = transformers.ChameleonConfig(**settings, vq_config=PICTURES, vocabulary_map={"<image>": 5})
    return transformers.ChameleonForConditionalGeneration(config)


def same_norms(tensors, _):
    """As published, where heads have the norm of the device that they were trained on."""
    for name in [name for name in tensors if "_norm." in name and "self_attn" in name]:
        tensors[name] = tensors[name][:1].repeat(len(tensors[name]), 1)


FAMILY = Family(
    model,
    to_gguf={
        "chameleon": Repository(dict(num_key_value_heads=4), chameleon, "starcoder", steps=[edited(same_norms)]),
        "chameleon-swin": Repository(
            dict(num_key_value_heads=4, num_hidden_layers=2, swin_norm=True), chameleon, "starcoder", types=["f32"], steps=[edited(same_norms)]
        ),
    },
)  # fmt: skip
