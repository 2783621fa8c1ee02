"""Tiny repositories of random weights for `check_loaders.py`, as transformers saves them.

Sides are multiples of every type's groups, so that every linear layer is quantized. Matrices have a gain
of about one, so that every layer shows in the logits. All experts are used for every token: rounding
cannot choose others.
"""

import torch
from family_tokenizers import google, llama3, qwen2

import transformers

SIZES = dict(
    hidden_size=256,
    intermediate_size=512,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=64,
    max_position_embeddings=256,
    # More than any of the tokenizers has.
    vocab_size=320,
    pad_token_id=None,
    tie_word_embeddings=False,
)
EXPERTS = dict(num_experts=4, num_experts_per_tok=4, moe_intermediate_size=256)
# Other settings of rotary embeddings, loaders read under other names.
ROPE = dict(rope_type="default", rope_theta=150000.0)
# MLX wants a layer of each kind.
GEMMA3 = dict(sliding_window=512, num_hidden_layers=6, tie_word_embeddings=True)
# The family's classes, its settings besides the sizes, its tokenizer.
MODELS = {
    "llama": ("Llama", {}, llama3),
    "qwen3": ("Qwen3", {}, qwen2),
    "gemma3": ("Gemma3", GEMMA3, google),
    "mixtral": ("Mixtral", dict(num_local_experts=4, num_experts_per_tok=4), llama3),
    "qwen3_moe": ("Qwen3Moe", EXPERTS, qwen2),
    # Sides that are not multiples of 128, and another type.
    "llama-partial": ("Llama", dict(hidden_size=192, intermediate_size=320), llama3),
    "llama-f16": ("Llama", dict(dtype="float16"), llama3),
    "gpt_oss": ("GptOss", dict(num_local_experts=4, num_experts_per_tok=4, rope_parameters=ROPE), llama3),
}


def numbers(name, parameter, generator):
    drawn = torch.randn(parameter.shape, generator=generator)
    if "norm" in name:
        return 0.1 * drawn + parameter.detach()
    if parameter.ndim < 2 or "sinks" in name:
        return 0.1 * drawn
    # Stacked experts of gpt-oss have their inputs along the rows; both sides are near enough.
    return drawn * parameter.shape[-1] ** -0.5


def write(family, folder):
    kind, settings, tokenizer = MODELS[family]
    folder.mkdir(parents=True)
    ids = tokenizer(str(folder))
    text = "TextConfig" if hasattr(transformers, kind + "TextConfig") else "Config"
    config = getattr(transformers, kind + text)(**{**SIZES, **settings, **ids})
    model = getattr(transformers, kind + "ForCausalLM")(config)
    generator = torch.Generator().manual_seed(7)
    for name, parameter in model.named_parameters():
        parameter.data = numbers(name, parameter, generator)
    model.tie_weights()
    model.to(getattr(torch, settings.get("dtype", "bfloat16"))).save_pretrained(folder)
