"""GPT-2: positions that are learned, and matrices that are stored the other way round."""

import torch
from family_blocks import ABSENT, Family, Repository, Tiny, edited, say
from family_tokenizers import plain_bpe
from gguf_vocabularies import byte_level

gpt2 = plain_bpe([byte_level(use_regex=True)], "GPT2Tokenizer", "<|endoftext|>", "<|endoftext|>", spelled=True)
SIZES = dict(intermediate_size=ABSENT, num_key_value_heads=ABSENT, head_dim=ABSENT)
# What the converter asks for, published configs say, and transformers no longer writes.
CONTEXT = say(n_ctx=64)


def bare(tensors, generator):
    """Names as the model has them that stands inside of the one with an output."""
    for name in list(tensors):
        tensors[name.removeprefix("transformer.")] = tensors.pop(name)


def masks(tensors, generator):
    """Which tokens a token sees, which older versions wrote beside the weights. The converter does not need
    them, but does not get past them."""
    tensors["h.0.attn.bias"] = torch.ones([1, 1, 64, 64]).tril().bool()
    tensors["h.0.attn.masked_bias"] = torch.tensor(-10000.0)


def published(width, layers, heads, **more):
    sizes = dict(n_ctx=1024, n_embd=width, n_head=heads, n_layer=layers, n_positions=1024, vocab_size=50257)
    said = dict(activation_function="gelu_new", layer_norm_epsilon=1e-5, bos_token_id=50256, eos_token_id=50256)
    return dict(architectures=["GPT2LMHeadModel"], model_type="gpt2", **sizes, **said, **more)


FAMILY = Family(
    "GPT2LMHeadModel",
    names={
        "gpt2": Tiny(dict(SIZES, num_hidden_layers=2), type="f16", steps=[CONTEXT]),
        "gpt2-untied": Tiny(dict(SIZES, tie_word_embeddings=False), steps=[edited(bare), CONTEXT]),
    },
    to_gguf={
        "gpt2": Repository(dict(SIZES, num_hidden_layers=2), gpt2, "gpt-2", types=["f32", "bf16"], steps=[CONTEXT]),
        "gpt2-published": Repository(
            SIZES, gpt2, "gpt-2", dtype="float32", types=["f32", "auto"], steps=[edited(bare), CONTEXT], unread=[edited(masks)]
        ),
    },
    configs={
        "gpt2": published(768, 12, 12),
        "gpt2-xl": published(1600, 48, 25, n_inner=None, output_past=True, reorder_and_upcast_attn=False),
        "gpt2-inner": published(768, 12, 12, n_inner=1024, scale_attn_by_inverse_layer_idx=True),
        "gpt2-short": dict(architectures=["GPT2LMHeadModel"], model_type="gpt2", n_ctx=512),
    },
    warned={"gpt2-inner": ["scale_attn_by_inverse_layer_idx"]},
    beyond={"gpt2-inner": ["gpt2.feed_forward_length"], "gpt2-short": ["gpt2.context_length"]},
)
