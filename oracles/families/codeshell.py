"""CodeShell."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import plain_bpe
from gguf_vocabularies import digits

codeshell = plain_bpe(digits(), "CodeShellTokenizer", "<|endoftext|>", "<|endoftext|>", "<fim_prefix>", "||", "<fim_suffix>")
CONFIG = dict(
    architectures=["CodeShellForCausalLM"], model_type="kclgpt", activation_function="gelu_pytorch_tanh", attention_softmax_in_fp32=True,
    attn_pdrop=0.1, bos_token_id=70000, embd_pdrop=0.1, eos_token_id=70000, group_query_attention=True, initializer_range=0.02,
    layer_norm_epsilon=1e-5, n_embd=16, n_head=4, n_inner=64, n_layer=2, n_positions=64, num_query_groups=2, position_embedding_type="rope",
    resid_pdrop=0.1, rope_scaling=None, scale_attention_softmax_in_fp32=True, scale_attn_weights=True, tie_word_embeddings=False,
)  # fmt: skip


def shapes(tokens, count=2, keys=2):
    found = {"transformer.wte.weight": [tokens, 16], "lm_head.weight": [tokens, 16], "transformer.ln_f.weight": [16], "transformer.ln_f.bias": [16]}
    for layer in range(count):
        modules = {
            "ln_1": [16], "attn.c_attn": [16 + 2 * 4 * keys, 16], "attn.c_proj": [16, 16], "ln_2": [16], "mlp.c_fc": [64, 16], "mlp.c_proj": [16, 64]
        }  # fmt: skip
        for name, shape in modules.items():
            found[f"transformer.h.{layer}.{name}.weight"] = shape
            found[f"transformer.h.{layer}.{name}.bias"] = shape[:1]
        found[f"transformer.h.{layer}.attn.rotary_emb.inv_freq"] = [2]
    return found


def ids(said):
    return {key: value for key, value in said.items() if not key.endswith("_token_id")}


FAMILY = Family(
    None,
    to_gguf={
        "codeshell": Repository({}, codeshell, "codeshell", types=["f32", "bf16"], laid_out=layouts.laid_out(ids(CONFIG), shapes)),
        "codeshell-one": Repository(
            {}, codeshell, "codeshell", types=["f16"],
            laid_out=layouts.laid_out(dict(ids(CONFIG), num_query_groups=1, n_layer=1), lambda tokens: shapes(tokens, 1, 1), torch.float16),
        ),
    },
    configs={
        "codeshell-7b": dict(CONFIG, n_embd=4096, n_head=32, n_inner=16384, n_layer=42, n_positions=8192, num_query_groups=8, vocab_size=70144),
    },
)  # fmt: skip
