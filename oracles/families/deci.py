"""DeciLM 7B, and Nemotron's models that were found by a search for architectures. transformers knows neither."""

import family_layouts as layouts
import torch
from family_blocks import LLAMA3, Family, Repository
from family_tokenizers import meta_json

import transformers

CONFIG = dict(
    architectures=["DeciLMForCausalLM"], attention_bias=False, attention_dropout=0.0, hidden_act="silu", hidden_size=16, initializer_range=0.02,
    max_position_embeddings=64, mlp_bias=False, num_attention_heads=4, pretraining_tp=1, rms_norm_eps=1e-5, rope_theta=500000.0,
    tie_word_embeddings=False, torch_dtype="bfloat16", use_cache=True,
)  # fmt: skip
SCALING = {key: value for key, value in LLAMA3.items() if key != "rope_theta"}


def block(group, factor, linear=False):
    attention = dict(
        n_heads_in_group=group, no_op=group is None and not linear, num_sink_tokens=None, replace_with_linear=linear, sparsify=None, unshifted_sink=False,
        use_prefill_window_in_sink_attention=False, window_length=None,
    )  # fmt: skip
    return dict(attention=attention, ffn=dict(ffn_mult=factor, no_op=factor is None, replace_with_linear=False, sparsify=None))


def inner(factor, width):
    size = int(2 * factor * width / 3)
    return size + -size % 256


def layer(name, one, heads, width):
    head = width // heads
    found = {}
    if group := one["attention"]["n_heads_in_group"]:
        found |= layouts.attention(name, heads, heads // group, head, width)
    elif one["attention"]["replace_with_linear"]:
        found[f"{name}.self_attn.linear_attn.weight"] = [width, width]
    if found:
        found[f"{name}.input_layernorm.weight"] = [width]
    if factor := one["ffn"]["ffn_mult"]:
        found |= layouts.mlp(f"{name}.mlp", inner(factor, width), width)
        found[f"{name}.post_attention_layernorm.weight"] = [width]
    return found


def searched(blocks, heads=4, width=8):
    return lambda tokens: layouts.trunk(tokens, width) | layouts.layers(len(blocks), lambda name, number: layer(name, blocks[number], heads, width))


def seven(tokens, keys=(4, 2, 1)):
    def one(name, number):
        return layouts.attention(name, 4, keys[number], 4) | layouts.mlp(f"{name}.mlp", 24) | layouts.norms(name)

    return layouts.trunk(tokens) | layouts.layers(len(keys), one)


def tokenizer(kind):
    """reads the tokenizer beside a config with rotary scaling whose kind transformers does not know"""
    transformers.PreTrainedConfig.max_position_embeddings = None


BLOCKS = [block(2, 5.25), block(None, None, True), block(None, 2.625), block(4, None)]
FAMILY = Family(
    None,
    to_gguf={
        "deci": Repository(
            {}, meta_json, None, mend=tokenizer, spare=0,
            laid_out=layouts.laid_out(
                dict(CONFIG, hidden_size=8, model_type="nemotron-nas", block_configs=BLOCKS, intermediate_size=None, num_hidden_layers=4, num_key_value_heads=None, rope_scaling=SCALING),
                searched(BLOCKS),
            ),
        ),
        "deci-7b": Repository(
            {}, meta_json, None, spare=0, types=["f32"],
            laid_out=layouts.laid_out(
                dict(CONFIG, model_type="deci", intermediate_size=24, num_hidden_layers=3, num_key_value_heads_per_layer=[4, 2, 1], rope_scaling=None),
                seven, torch.float16,
            ),
        ),
    },
)  # fmt: skip
