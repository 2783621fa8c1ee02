"""Nemotron Nano VL: RADIO, whose positions are made fewer or more, with or without an encoder of sound.

The converter writes the widths of ViT-H, whatever the config says; layers here are narrower, but for the first norm."""

from projector_blocks import linear, norm
from projector_layouts import TEXT_CONFIG, batch_norm, convolution, counted, golden, layered, modules

START = "vision_model.radio_model.model."
LINEARS = {"attn.qkv": (6, 2), "attn.proj": (2, 2), "mlp.fc1": (4, 2), "mlp.fc2": (2, 4)}


def images(side, bias):
    return {
        **layered(f"{START}blocks.", 32, LINEARS, dict(norm1=2, norm2=2), bias=bias, norm_bias=bias),
        **norm(f"{START}blocks.0.norm1", 1280, bias),
        f"{START}patch_generator.cls_token.token": [3, 2],
        f"{START}patch_generator.embedder.weight": [1280, 3],
        f"{START}patch_generator.pos_embed": [1, side * side, 1280],
        f"{START}patch_generator.video_embedder.weight": [2, 6],
        "vision_model.radio_model.input_conditioner.norm_mean": [3, 1, 1],
        **norm("mlp1.0", 8, False),
        **linear("mlp1.1", 12, 8, False),
        **linear("mlp1.3", 16, 12, False),
    }


def layer(prefix):
    attention = {f"self_attn.{part}": (8, 8) for part in ["q_proj", "k_proj", "v_proj", "o_proj", "relative_k_proj"]}
    feed = {}
    for number in [1, 2]:
        feed.update({f"feed_forward{number}.linear1": (12, 8), f"feed_forward{number}.linear2": (8, 12)})
    norms = ["norm_feed_forward1", "norm_feed_forward2", "norm_self_att", "norm_conv", "norm_out"]
    return {
        **modules(prefix, {**attention, **feed}, bias=False),
        **modules(prefix, norms=dict.fromkeys(norms, 8)),
        f"{prefix}self_attn.bias_u": [2, 4],
        f"{prefix}self_attn.bias_v": [2, 4],
        **convolution(f"{prefix}conv.pointwise_conv1", [16, 8, 1]),
        **convolution(f"{prefix}conv.depthwise_conv", [8, 1, 9]),
        **convolution(f"{prefix}conv.pointwise_conv2", [8, 8, 1]),
        **batch_norm(f"{prefix}conv.norm", 8),
    }


def sound():
    found = {}
    for number in range(2):
        found.update(layer(f"sound_encoder.encoder.layers.{number}."))
    for number, shape in {0: [4, 1, 3, 3], 2: [4, 1, 3, 3], 3: [4, 4, 1, 1]}.items():
        found.update(convolution(f"sound_encoder.encoder.subsampling.layers.{number}", shape))
    return {
        **found,
        **linear("sound_encoder.encoder.subsampling.linear", 8, 16),
        "sound_encoder.encoder.feature_extractor.featurizer.fb": [1, 8, 9],
        "sound_encoder.encoder.feature_extractor.featurizer.window": [16],
        **norm("sound_projection.norm", 8, False),
        **linear("sound_projection.linear1", 12, 8, False),
        **linear("sound_projection.linear2", 16, 12, False),
    }


def config(**more):
    vision = dict(architectures=["RADIOModel"], patch_size=1, version="radio_v2.5-h")
    found = dict(architectures=["NemotronH_Nano_VL_V2"], model_type="NemotronH_Nano_VL_V2", vision_config=vision)
    return dict(found, llm_config=TEXT_CONFIG, downsample_ratio=0.5, **more)


SOUND = dict(hidden_size=8, intermediate_size=12, num_hidden_layers=2, num_attention_heads=2, num_mel_bins=8)
SOUND.update(subsampling_factor=8, conv_kernel_size=9)


def text(rows):
    return {"language_model.backbone.embeddings.weight": [rows, 2], "language_model.lm_head.weight": [rows, 2]}


GOLDENS = {
    "nemotron_vl": golden(config(force_image_size=3), images(2, False), text=text),
    "nemotron_vl-sound": golden(config(force_image_size=1, sound_config=SOUND), {**images(1, True), **sound()}, text=text, types=["bf16"], steps=[counted]),
}
