"""Refact."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import plain_bpe
from gguf_vocabularies import digits

refact = plain_bpe(digits(), "GPT2TokenizerFast", "<|endoftext|>", "<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>")
CONFIG = dict(
    architectures=["GPTRefactForCausalLM"], model_type="gpt_refact", attention_bias_in_fp32=True, attention_softmax_in_fp32=True, attn_pdrop=0.1,
    do_sample=True, embd_pdrop=0.1, initializer_range=0.02, layer_norm_epsilon=1e-5, multi_query=True, n_embd=16, n_head=4, n_inner=None,
    n_layer=2, n_positions=64, resid_pdrop=0.1, scale_attention_softmax_in_fp32=True, scale_attn_weights=True,
)  # fmt: skip


def shapes(tokens, count=2, heads=4):
    found = {"transformer.wte.weight": [tokens, 16], "transformer.ln_f.weight": [16], "lm_head.weight": [tokens, 16]}
    head = 16 // heads
    for layer in range(count):
        modules = {
            "ln_1": [16], "attn.q": [16, 16], "attn.kv": [2 * head, 16], "attn.c_proj": [16, 16], "ln_2": [16], "mlp.gate_up_proj": [512, 16],
            "mlp.c_proj": [16, 256],
        }  # fmt: skip
        found |= layouts.inside(f"transformer.h.{layer}", modules)
    return found


FAMILY = Family(
    None,
    to_gguf={
        "refact": Repository({}, refact, "refact", laid_out=layouts.laid_out(CONFIG, shapes)),
        "refact-two": Repository(
            {}, refact, "refact", types=["f16"],
            laid_out=layouts.laid_out(dict(CONFIG, n_head=2, n_layer=1), lambda tokens: shapes(tokens, 1, 2), torch.float16),
        ),
    },
    configs={
        "refact-1.6b": dict(
            CONFIG, n_embd=2048, n_head=32, n_layer=32, n_positions=4096, vocab_size=49216, bos_token_id=-1, eos_token_id=0, pad_token_id=0,
        ),
    },
)  # fmt: skip
