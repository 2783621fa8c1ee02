"""Llama 4, with and without vision."""

from family_blocks import LLAMA3, SCALED_LLAMA3, Family, Repository, Tiny, config, shape
from family_tokenizers import plain_bpe
from gguf_vocabularies import GPT_4O, byte_level, split

import transformers

EXPERTS = dict(num_local_experts=3, interleave_moe_layer_step=2)
SETTINGS = dict(
    EXPERTS,
    num_hidden_layers=4,
    intermediate_size=8,
    intermediate_size_mlp=12,
    head_dim=4,
    max_position_embeddings=16384,
    rope_parameters=dict(LLAMA3, factor=16.0),
)
llama4 = plain_bpe(
    [split(GPT_4O), byte_level()], "PreTrainedTokenizerFast", "<|begin_of_text|>", "<|eot|>", bos="<|begin_of_text|>"
)


def with_vision(text):
    vision = dict(
        hidden_size=16,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        image_size=8,
        patch_size=4,
        vision_output_dim=8,
        projector_input_dim=8,
        projector_output_dim=8,
    )
    return transformers.Llama4ForConditionalGeneration(transformers.Llama4Config(text_config=text, vision_config=vision))


FAMILY = Family(
    "Llama4",
    names={
        "llama4": Tiny(dict(EXPERTS, num_hidden_layers=2, intermediate_size=16, intermediate_size_mlp=28)),
    },
    to_gguf={
        "llama4": Repository(SETTINGS, llama4, "llama4"),
        "llama4-vision": Repository(dict(SETTINGS, num_hidden_layers=1, interleave_moe_layer_step=1), llama4, "llama4", model=with_vision),
    },
    configs={
        "llama-4-scout": dict(
            architectures=["Llama4ForConditionalGeneration"],
            model_type="llama4",
            text_config=shape(
                5120, 8192, 48, 40, 8, 202048, 10485760,
                attention_chunk_size=8192, head_dim=128, interleave_moe_layer_step=1, intermediate_size_mlp=16384, model_type="llama4_text",
                no_rope_layers=[], num_experts_per_tok=1, num_local_experts=16, rms_norm_eps=1e-5, rope_theta=500000.0,
                rope_scaling=dict(SCALED_LLAMA3, factor=16.0, high_freq_factor=1.0, rope_type="llama3"),
            ),
        ),
        "llama-4-maverick": dict(
            architectures=["Llama4ForConditionalGeneration"],
            model_type="llama4",
            text_config=shape(5120, 8192, 48, 40, 8, 202048, 1048576, interleave_moe_layer_step=2, num_local_experts=128),
        ),
        "mobile-llm": config(
            "Llama4ForCausalLM", "llama4_text", 1280, 6144, 3, 20, 5, 202048, 32768,
            head_dim=64, intermediate_size_mlp=6144, interleave_moe_layer_step=0, num_local_experts=0, num_experts_per_tok=0,
            layer_types=["full_attention"] * 3, moe_layers=[], no_rope_layers=[1, 1, 1], rope_theta=8000000.0,
        ),
        "llama4-bare": dict(architectures=["Llama4ForCausalLM"], model_type="llama4_text"),
    },
    warned={"llama-4-maverick": ["use_qk_norm"], "mobile-llm": ["attention_chunk_size"]},
    beyond={"mobile-llm": ["llama4.attention.sliding_window"]},
)
