"""Mamba, as transformers and its own library have it, and Falcon Mamba."""

import family_layouts as layouts
from family_blocks import ABSENT, Family, Repository, edited, settled
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level
from settings_rows import UNTIED, Cases

# The converter makes tokens until there is a multiple of eight; so many rows are there.
ROWS = 6
neox = plain_bpe([byte_level(use_regex=True)], "GPTNeoXTokenizer", "<|endoftext|>", "<|endoftext|>", "<|padding|>", normalizer=dict(type="NFC"))
SIZES = dict(
    intermediate_size=ABSENT, num_attention_heads=ABSENT, num_key_value_heads=ABSENT, max_position_embeddings=ABSENT,
    state_size=4, conv_kernel=3, num_hidden_layers=2,
)  # fmt: skip
STEPS = [edited(settled)]
ORIGINAL = dict(
    architectures=["MambaLMHeadModel"], d_model=16, n_layer=1, ssm_cfg={}, rms_norm=True, residual_in_fp32=True, fused_add_norm=True,
    pad_vocab_size_multiple=8, tie_embeddings=True,
)  # fmt: skip


def mixer(name):
    shapes = {"in_proj.weight": [64, 16], "conv1d.weight": [32, 1, 4], "conv1d.bias": [32], "x_proj.weight": [33, 32], "D": [32]}
    shapes |= {"dt_proj.weight": [32, 1], "dt_proj.bias": [32], "A_log": [32, 16], "out_proj.weight": [16, 32]}
    return layouts.inside(f"{name}.mixer", shapes, "") | {f"{name}.norm.weight": [16]}


def shapes(tokens):
    found = {"backbone.embedding.weight": [tokens, 16], "backbone.norm_f.weight": [16]}
    return found | mixer("backbone.layers.0")


FAMILY = Family(
    "Mamba",
    to_gguf={
        "mamba": Repository(SIZES, neox, "olmo", types=["f32", "bf16"], spare=ROWS, steps=STEPS),
        "mamba-falcon": Repository(
            dict(SIZES, hidden_size=32, time_step_rank=3, tie_word_embeddings=False), neox, "olmo", model="FalconMamba", spare=ROWS, steps=STEPS
        ),
        "mamba-original": Repository({}, neox, "olmo", laid_out=layouts.laid_out(ORIGINAL, shapes, single=["A_log", "D", "dt_proj.bias"]), spare=ROWS),
    },
    settings={
        "mamba": Cases(
            "mamba", dict(SIZES, num_hidden_layers=4, rope_parameters=ABSENT, vocab_size=296), [*UNTIED], steps=STEPS
        ),
    },
    configs={
        "mamba-130m-hf": dict(
            architectures=["MambaForCausalLM"], model_type="mamba", bos_token_id=0, conv_kernel=4, d_inner=1536, d_model=768, eos_token_id=0,
            expand=2, fused_add_norm=True, hidden_act="silu", hidden_size=768, initializer_range=0.1, intermediate_size=1536,
            layer_norm_epsilon=1e-5, n_layer=24, num_hidden_layers=24, pad_token_id=0, pad_vocab_size_multiple=8,
            rescale_prenorm_residual=False, residual_in_fp32=True, rms_norm=True, ssm_cfg={}, state_size=16, time_step_floor=0.0001,
            time_step_init_scheme="random", time_step_max=0.1, time_step_min=0.001, time_step_rank=48, time_step_scale=1.0,
            use_bias=False, use_cache=True, use_conv_bias=True, vocab_size=50280,
        ),
        "falcon-mamba-7b": dict(
            architectures=["FalconMambaForCausalLM"], model_type="falcon_mamba", bos_token_id=0, conv_kernel=4, eos_token_id=11, expand=16,
            hidden_act="silu", hidden_size=4096, intermediate_size=8192, layer_norm_epsilon=1e-5, mixer_rms_eps=1e-6, num_hidden_layers=64,
            pad_token_id=11, residual_in_fp32=True, state_size=16, tie_word_embeddings=False, time_step_rank=256, use_bias=False,
            use_conv_bias=True, vocab_size=65024,
        ),
        "mamba-2.8b": dict(ORIGINAL, d_model=2560, n_layer=64, vocab_size=50277),
    },
    warned={"falcon-mamba-7b": ["mixer_rms_eps"]},
)  # fmt: skip
