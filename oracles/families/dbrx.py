"""DBRX."""

import family_layouts as layouts
import torch
from family_blocks import Family, Repository
from family_tokenizers import plain_bpe
from gguf_vocabularies import LLAMA3, byte_level, split

dbrx = plain_bpe([split(LLAMA3), byte_level()], "GPT2Tokenizer", "<|endoftext|>", "<|endoftext|>", "<|pad|>", "<|im_start|>", "<|im_end|>")


def published(width, heads, keys, layers, inner, experts, context, **more):
    """What published configs say."""
    return dict(
        architectures=["DbrxForCausalLM"], model_type="dbrx", attn_config=dict(clip_qkv=8, kv_n_heads=keys, model_type="", rope_theta=500000),
        d_model=width, emb_pdrop=0.0, ffn_config=dict(ffn_hidden_size=inner, moe_jitter_eps=0.01, moe_loss_weight=0.05, moe_num_experts=experts, moe_top_k=2),
        initializer_range=0.02, max_seq_len=context, n_heads=heads, n_layers=layers, output_router_logits=False, resid_pdrop=0.0,
        tie_word_embeddings=False, use_cache=True, **more,
    )  # fmt: skip


def shapes(tokens, keys=2, experts=3):
    found = {"transformer.wte.weight": [tokens, 16], "transformer.norm_f.weight": [16], "lm_head.weight": [tokens, 16]}
    for layer in range(2):
        name = f"transformer.blocks.{layer}"
        attention = {"norm_1": [16], "norm_2": [16], "attn.Wqkv": [16 + 8 * keys, 16], "attn.out_proj": [16, 16]}
        found |= layouts.inside(f"{name}.norm_attn_norm", attention) | {f"{name}.ffn.router.layer.weight": [experts, 16]}
        found |= {f"{name}.ffn.experts.mlp.{part}": [experts * 8, 16] for part in ("w1", "v1", "w2")}
    return found


CONFIG = published(16, 4, 2, 2, 8, 3, 64)
FAMILY = Family(
    None,
    to_gguf={
        "dbrx": Repository({}, dbrx, "dbrx", laid_out=layouts.laid_out(CONFIG, shapes)),
        "dbrx-grouped": Repository(
            {}, dbrx, "dbrx", types=["f32"], laid_out=layouts.laid_out(published(16, 4, 1, 2, 8, 4, 128), lambda tokens: shapes(tokens, 1, 4), torch.float16)
        ),
    },
    configs={"dbrx-instruct": published(6144, 48, 8, 40, 10752, 16, 32768, vocab_size=100352)},
    skipped={"dbrx": "laid out by hand"},
)  # fmt: skip
