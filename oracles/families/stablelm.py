"""StableLM 3B, 2 1.6B and 2 12B."""

import family_layouts as layouts
import torch
from families.gptneox import neox
from family_blocks import Family, Repository, Tiny, config
from family_tokenizers import plain_bpe
from gguf_vocabularies import QWEN2, byte_level, split

stablelm = plain_bpe([split(QWEN2), byte_level()], "GPT2Tokenizer", "<|endoftext|>", "<|endoftext|>", "<|im_start|>", "<|im_end|>")
# As in the 12B: a norm for each head, and none between attention and what stands beside it.
HEADS = dict(qk_layernorm=True, use_parallel_residual=True)
HALF = dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5)


def stacking(converter):
    """The converter stacks the norms of heads, forgets to hand them out, and then misses them."""
    method = converter.modify_tensors

    def modify_tensors(self, *tensor):
        stacked = yield from method(self, *tensor)
        yield from stacked or ()

    converter.modify_tensors = modify_tensors


# The first repositories, whose class is their own.
EPOCH = dict(
    architectures=["StableLMEpochForCausalLM"], model_type="stablelm_epoch", hidden_act="silu", hidden_size=16, initializer_range=0.02,
    intermediate_size=24, max_position_embeddings=64, norm_eps=1e-5, num_attention_heads=4, num_heads=4, num_hidden_layers=2,
    num_key_value_heads=4, rope_pct=0.5, rope_theta=10000, rotary_scaling_factor=1.0, tie_word_embeddings=False, use_parallel_residual=False, use_qkv_bias=False,
)  # fmt: skip


def epoch(tokens, count=2, bias=False, more=()):
    def of(name, _):
        norms = layouts.norms(name)
        attention = layouts.attention(name, 4, 4, 4)
        biased = [*norms, *(key for key in attention if bias and ".o_proj." not in key)]
        each = attention | layouts.mlp(f"{name}.mlp", 24) | norms
        return each | {key.replace(".weight", ".bias"): [16] for key in biased}

    return layouts.trunk(tokens) | {"model.norm.bias": [16]} | layouts.layers(count, of) | {name: [4, 16] for name in more}


FAMILY = Family(
    "StableLm",
    names={
        "stablelm": Tiny(dict(num_key_value_heads=4), type="f16"),
        "stablelm-biased": Tiny(dict(use_qkv_bias=True, num_hidden_layers=2)),
        "stablelm-heads": Tiny(HEADS, mend=stacking),
    },
    to_gguf={
        "stablelm": Repository(dict(hidden_size=32, num_key_value_heads=4), stablelm, "stablelm2", types=["f32", "bf16"]),
        "stablelm-biased": Repository(
            dict(num_hidden_layers=2, use_qkv_bias=True, rope_parameters=HALF), stablelm, "stablelm2", dtype="float16", types=["f32", "f16"]
        ),
        "stablelm-parallel": Repository(dict(use_parallel_residual=True, hidden_size=32), stablelm, "stablelm2", types=["f32", "bf16"]),
        "stablelm_epoch": Repository({}, neox, "olmo", types=["f32", "bf16"], laid_out=layouts.laid_out(EPOCH, epoch)),
        # A part that sees is left to another file.
        "stablelm_epoch-llava": Repository(
            {}, neox, "olmo", types=["f16"],
            laid_out=layouts.laid_out(
                dict(
                    EPOCH, architectures=["LlavaStableLMEpochForCausalLM"], model_type="stablelm_epoch", num_hidden_layers=1, use_qkv_bias=True,
                    mm_projector_type="linear", mm_vision_tower="x",
                ),
                lambda tokens: epoch(tokens, 1, True, ["model.vision_tower.patch.weight", "model.mm_projector.weight"]), torch.float16,
            ),
        ),
        "stablelm-heads": Repository(dict(HEADS, hidden_size=32), stablelm, "stablelm2", types=["f32", "bf16"], mend=stacking),
    },
    configs={
        "stablelm-3b": config(
            "StableLmForCausalLM", "stablelm", 2560, 6912, 32, 32, 32, 50304, 4096,
            hidden_act="silu", layer_norm_eps=1e-5, partial_rotary_factor=0.25, rope_theta=10000, tie_word_embeddings=False, use_qkv_bias=False,
        ),
        "stablelm-2-1.6b": config(
            "StableLmForCausalLM", "stablelm", 2048, 5632, 24, 32, 32, 100352, 4096,
            layer_norm_eps=1e-5, partial_rotary_factor=0.25, rope_theta=10000, use_qkv_bias=True,
        ),
        "stablelm-2-12b": config(
            "StableLmForCausalLM", "stablelm", 5120, 13824, 40, 32, 8, 100352, 4096,
            layer_norm_eps=1e-5, partial_rotary_factor=0.25, qk_layernorm=True, rope_theta=10000, use_parallel_residual=True,
        ),
        "stablelm-scaled": config(
            "StableLmForCausalLM", "stablelm", 2560, 6912, 32, 32, 32, 50304, 16384,
            norm_eps=1e-3, rope_pct=0.5, rope_scaling=dict(type="linear", factor=4.0),
        ),
        # The converter takes its norms for those of parallel layers; llama.cpp goes by the tensors.
        "stablelm-3b-4e1t": dict(
            {key: value for key, value in EPOCH.items() if key != "use_parallel_residual"}, hidden_size=2560, intermediate_size=6912,
            max_position_embeddings=4096, num_attention_heads=32, num_heads=32, num_hidden_layers=32, num_key_value_heads=32, rope_pct=0.25,
            vocab_size=50304,
        ),
        "stablelm-bare": dict(architectures=["StableLmForCausalLM"], model_type="stablelm"),
    },
    beyond={"stablelm-scaled": ["stablelm.rope.scaling.type", "stablelm.rope.scaling.factor"]},
)  # fmt: skip
