"""StarCoder and SantaCoder."""

import torch
from family_blocks import ABSENT, Family, Repository, edited
from family_tokenizers import plain_bpe
from gguf_vocabularies import digits
from settings_rows import NOTHING, TIED, Cases, each

bigcode = plain_bpe(digits(), "GPT2TokenizerFast", "<|endoftext|>", "<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>")
SIZES = dict(intermediate_size=ABSENT, num_key_value_heads=ABSENT, head_dim=ABSENT)


def masks(tensors, generator):
    """Which tokens a token sees, which older versions wrote beside the weights. The converter does not need
    them, but does not get past them."""
    tensors["transformer.h.0.attn.bias"] = torch.ones([1, 1, 64, 64]).tril().bool()


def published(width, layers, heads, **more):
    return dict(
        architectures=["GPTBigCodeForCausalLM"], model_type="gpt_bigcode", activation_function="gelu", attention_softmax_in_fp32=True,
        attn_pdrop=0.1, bos_token_id=0, embd_pdrop=0.1, eos_token_id=0, inference_runner=0, initializer_range=0.02, layer_norm_epsilon=1e-5,
        max_batch_size=None, max_sequence_length=None, multi_query=True, n_embd=width, n_head=heads, n_inner=4 * width, n_layer=layers,
        n_positions=8192, pad_key_length=True, pre_allocate_kv_cache=False, resid_pdrop=0.1, scale_attention_softmax_in_fp32=True,
        scale_attn_weights=True, summary_activation=None, summary_first_dropout=0.1, summary_proj_to_labels=True, summary_type="cls_index",
        summary_use_proj=True, use_cache=True, validate_runner_input=True, vocab_size=49152, **more,
    )  # fmt: skip


FAMILY = Family(
    "GPTBigCode",
    to_gguf={
        "gpt_bigcode": Repository(dict(SIZES, num_hidden_layers=2), bigcode, "refact", types=["f32", "bf16"]),
        "gpt_bigcode-untied": Repository(
            dict(SIZES, tie_word_embeddings=False, num_attention_heads=2), bigcode, "refact", dtype="float16", types=["f16"], unread=[edited(masks)]
        ),
    },
    configs={
        "starcoder": published(6144, 40, 48),
        "starcoder-1b": published(2048, 24, 16, torch_dtype="float32"),
        "starcoder-inner": dict(published(2048, 24, 16), n_inner=4096, activation_function="relu"),
        "starcoder-bare": dict(architectures=["GPTBigCodeForCausalLM"], model_type="gpt_bigcode"),
    },
    warned={"starcoder-inner": ["activation_function"]},
    beyond={"starcoder-inner": ["starcoder.feed_forward_length"]},
    settings={
        "starcoder": Cases(
            "gpt_bigcode",
            dict(SIZES, rope_parameters=ABSENT),
            [*each("n_inner", 96), *each("activation_function", "gelu", "relu"), *each("scale_attn_weights", False), *TIED, *NOTHING],
        ),
    },
    back="gpt_bigcode",
)  # fmt: skip
