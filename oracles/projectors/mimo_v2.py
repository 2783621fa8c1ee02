"""MiMo-V2.5: Qwen's encoder of images, and one of sound whose weights have a folder of their own."""

import os

import torch
from family_blocks import numbers
from gguf_vocabularies import write_json
from projector_blocks import CLIP_COLOURS, linear, norm
from projector_layouts import TEXT_CONFIG, convolution, golden, layered
from safetensors.torch import save_file

FOLDER = "audio_tokenizer"
SOUND = dict(d_model=8, encoder_ffn_dim=12, encoder_attention_heads=2, encoder_layers=3, n_mels=6, encoder_attn_window_size=[32, 0])


def images():
    linears = {"attn.proj": (16, 16), "mlp.gate_proj": (24, 16), "mlp.up_proj": (24, 16), "mlp.down_proj": (16, 24)}
    found = {
        **convolution("visual.patch_embed.proj", [16, 3, 2, 2, 2], False),
        **layered("visual.blocks.", 2, {"attn.qkv": (24, 16), **linears}, dict(norm1=16, norm2=16), norm_bias=False),
        **norm("visual.merger.ln_q", 16),
        **linear("visual.merger.mlp.0", 24, 64),
        **linear("visual.merger.mlp.2", 16, 24),
    }
    return {**found, **{f"visual.blocks.{layer}.attn.sinks": [4] for layer in range(2)}}


def heard():
    """What the language model's own file has of sound."""
    start = "audio_encoder.input_local_transformer."
    square = dict.fromkeys([f"self_attn.{name}_proj" for name in "qkv"], (8, 8))
    bare = {"self_attn.o_proj": (8, 8), "mlp.gate_proj": (12, 8), "mlp.up_proj": (12, 8), "mlp.down_proj": (8, 12)}
    return {
        **layered(f"{start}layers.", 2, square),
        **layered(f"{start}layers.", 2, bare, dict(input_layernorm=8, post_attention_layernorm=8), bias=False, norm_bias=False),
        **norm(f"{start}norm", 8, False),
        **linear("audio_encoder.projection.mlp.0", 12, 32, False),
        **linear("audio_encoder.projection.mlp.2", 16, 12, False),
        **{f"speech_embeddings.{channel}.weight": [10, 8] for channel in range(11)},
    }


def tokenizer(**more):
    """A step: the encoder in its folder."""
    linears = {f"self_attn.{name}_proj": (8, 8) for name in ["q", "v", "out"]}
    linears.update(fc1=(12, 8), fc2=(8, 12))
    shapes = {
        **convolution("encoder.conv1", [8, 6, 3]),
        **convolution("encoder.conv2", [8, 8, 3]),
        **layered("encoder.layers.", 3, linears, dict(self_attn_layer_norm=8, final_layer_norm=8)),
        **norm("encoder.layer_norm", 8),
        **convolution("encoder.down_sample_layer.0", [8, 8, 2], False),
        **norm("encoder.down_sample_norm", 8),
        **linear("decoder.layers.0.fc1", 8, 8),
    }
    for layer in range(3):
        shapes.update(linear(f"encoder.layers.{layer}.self_attn.k_proj", 8, 8, False))
    for layer, rows in enumerate([12, 12, 5]):
        book = f"encoder.quantizer.vq.layers.{layer}._codebook."
        shapes.update({f"{book}embed": [rows, 8], f"{book}embed_avg": [rows, 8], f"{book}cluster_size": [rows], f"{book}inited": [1]})

    def step(folder):
        os.makedirs(os.path.join(folder, FOLDER))
        write_json(os.path.join(folder, FOLDER), "config.json", dict(SOUND, **more), indent=2)
        generator = torch.Generator().manual_seed(len(shapes))
        tensors = {name: numbers(shape, generator) for name, shape in shapes.items()}
        save_file(tensors, os.path.join(folder, FOLDER, "model.safetensors"), metadata={"format": "pt"})

    return step


def config(**more):
    vision = dict(depth=2, hidden_size=16, intermediate_size=24, num_heads=4, num_key_value_heads=1, qk_channels=4, patch_size=2)
    vision.update(spatial_merge_size=2, temporal_patch_size=2, use_sink=True, fullatt_block_indexes=[0], vit_window_attn_types=[-1, 1])
    found = dict(TEXT_CONFIG, architectures=["MiMoV2ForCausalLM"], vision_config=dict(vision, visual_token_window_size=64, **more))
    return dict(found, audio_config=dict(audio_channels=11, input_local_layers=2, group_size=4))


PROCESSOR = dict(CLIP_COLOURS, min_pixels=3136, max_pixels=1003520)


def text(rows):
    return {"model.embed_tokens.weight": [rows, 2], "lm_head.weight": [rows, 2]}


GOLDENS = {
    "mimo_v2": golden(config(), {**images(), **heard()}, PROCESSOR, text, steps=[tokenizer(hybrid_attention=True, swa_per_block=2)]),
    "mimo_v2-bf16": golden(
        config(image_size=280, rms_norm_eps=1e-5), {**images(), **heard()}, PROCESSOR, text, types=["bf16"], steps=[tokenizer(layer_norm_eps=1e-6)]
    ),
}
