"""Qwen 3.5, with and without vision."""

from family_blocks import LINEAR, Family, Repository, edited, numbers, say, shape
from family_tokenizers import qwen35

import transformers


def next_model(tensors, generator):
    """Adds what published checkpoints have and transformers does not build: beside the model, a layer that
    predicts one more token."""
    for name in [name for name in tensors if name.startswith("model.layers.1.")]:
        tensors[name.replace("model.layers.1.", "mtp.layers.0.")] = numbers(tensors[name].shape, generator).bfloat16()
    width = tensors["model.norm.weight"].shape[0]
    tensors["mtp.fc.weight"] = numbers([width, 2 * width], generator).bfloat16()
    for name in ["norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden"]:
        tensors[f"mtp.{name}.weight"] = numbers([width], generator).bfloat16()


def with_vision(text):
    vision = dict(
        depth=1,
        hidden_size=16,
        intermediate_size=16,
        num_heads=2,
        patch_size=4,
        out_hidden_size=16,
        num_position_embeddings=4,
    )
    return transformers.Qwen3_5ForConditionalGeneration(transformers.Qwen3_5Config(text_config=text, vision_config=vision))


FAMILY = Family(
    "Qwen3_5",
    to_gguf={
        "qwen3_5": Repository(LINEAR, qwen35, "qwen35", types=["f32", "bf16"], steps=[edited(next_model), say(mtp_num_hidden_layers=1)], next_apart=True),
        "qwen3_5-vision": Repository(
            dict(LINEAR, linear_num_value_heads=2, mtp_num_hidden_layers=0), qwen35, "qwen35", model=with_vision, without_next=True
        ),
    },
    configs={
        "qwen3.5-9b": dict(
            architectures=["Qwen3_5ForConditionalGeneration"],
            model_type="qwen3_5",
            text_config=shape(
                4096, 12288, 32, 16, 4, 248320, 262144,
                full_attention_interval=4, head_dim=256, linear_conv_kernel_dim=4, linear_key_head_dim=128, linear_num_key_heads=16,
                linear_num_value_heads=32, linear_value_head_dim=128, model_type="qwen3_5_text", mtp_num_hidden_layers=1, rms_norm_eps=1e-6,
                layer_types=(["linear_attention"] * 3 + ["full_attention"]) * 8,
                rope_parameters=dict(
                    mrope_interleaved=True, mrope_section=[11, 11, 10], partial_rotary_factor=0.25, rope_theta=10000000, rope_type="default"
                ),
            ),
        ),
        "qwen3.5-bare": dict(architectures=["Qwen3_5ForCausalLM"], model_type="qwen3_5_text", mtp_num_hidden_layers=1),
        "qwen3.5-interval": dict(
            architectures=["Qwen3_5ForCausalLM"], model_type="qwen3_5_text", mtp_num_hidden_layers=2, num_hidden_layers=5, full_attention_interval=2
        ),
    },
)
